"""Owns one whole object of each resource, with every field of its spec written, for the tests that change one.

Refuses to be clever: each is written out, so that a reader sees what is accepted.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

DIGEST = "sha256:669ed7b128b6ad1658d735326bd172a33497ecdb8bbd72dd0b23c98b58469448"

HUGGING_FACE: Object = {
    "apiVersion": "worker.gpustack.ai/v1",
    "kind": "ModelArtifact",
    "metadata": {"name": "qwen-7b", "namespace": "default"},
    "spec": {
        "source": {
            "huggingFace": {
                "repository": "Qwen/Qwen2.5-7B-Instruct",
                "revision": "main",
                "secretRef": {"name": "hf-token"},
            }
        },
        "allowPatterns": ["*.safetensors", "*.json", "tokenizer*"],
        "ignorePatterns": ["original/"],
        "expectedDigest": DIGEST,
    },
}
MODEL_SCOPE: Object = {
    **HUGGING_FACE,
    "spec": {
        "source": {
            "modelScope": {
                "repository": "qwen/Qwen2.5-7B-Instruct",
                "revision": "master",
                "secretRef": {"name": "ms-token"},
            }
        }
    },
}
CLAIM: Object = {
    **HUGGING_FACE,
    "spec": {"source": {"persistentVolumeClaim": {"claimName": "models", "path": "qwen/7b"}}},
}
IMAGE: Object = {
    **HUGGING_FACE,
    "spec": {"source": {"image": {"reference": f"registry.example.com:5000/team/qwen@{DIGEST}"}}},
}
DEPLOYMENT: Object = {
    "apiVersion": "worker.gpustack.ai/v1",
    "kind": "ModelDeployment",
    "metadata": {"name": "qwen-7b", "namespace": "default"},
    "spec": {
        "model": {"name": "qwen-7b", "artifactRef": {"name": "qwen-7b"}},
        "engine": {"name": "vLLM", "version": "0.29.0", "manufacturer": ""},
        "kvCache": {"connector": "Mooncake", "config": {"segment": {"bytes": 1}}},
        "roles": [
            {
                "name": "server",
                "kind": "Server",
                "replicas": 2,
                "image": "vllm/vllm-openai:v0.29.0",
                "extraArgs": ["--max-model-len", "8192"],
                "env": [
                    {"name": "OMP_NUM_THREADS", "value": "4"},
                    {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "key"}}},
                ],
                "port": 8000,
                "resources": {"limits": {"cpu": 4, "memory": "16Gi"}, "requests": {"cpu": "500m"}},
                "volumes": [
                    {"name": "shm", "mountPath": "/dev/shm", "emptyDir": {"medium": "Memory"}},
                    {
                        "name": "data",
                        "mountPath": "/data",
                        "subPath": "a",
                        "readOnly": True,
                        "hostPath": {"path": "/d"},
                    },
                ],
                "labels": {"kueue.x-k8s.io/queue-name": "team-a", "tier": "gold"},
                "nodeSelector": {"gpu": "yes"},
                "tolerations": [{"key": "gpu", "operator": "Exists"}],
                "imagePullSecrets": [{"name": "registry"}],
                "serviceAccountName": "runner",
            },
            {"name": "decode", "kind": "Decode", "image": "vllm/vllm-openai:v0.29.0", "command": ["serve"]},
        ],
    },
}
INSTANCE: Object = {
    "apiVersion": "worker.gpustack.ai/v1",
    "kind": "Instance",
    "metadata": {"name": "notebook", "namespace": "default"},
    "spec": {
        "image": "jupyter/base-notebook",
        "command": ["start.sh"],
        "args": ["--no-browser"],
        "env": [{"name": "A", "value": "b"}],
        "resources": {"limits": {"memory": "4Gi"}},
        "ports": [{"containerPort": 8888}],
        "nodeName": "node-1",
        "nodeSelector": {"gpu": "yes"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "labels": {"team": "a"},
        "imagePullSecrets": [{"name": "registry"}],
        "stop": False,
        "additionalVolumes": [
            {"mountPath": "/models/qwen", "model": {"artifactRef": {"name": "qwen-7b"}}},
            {"mountPath": "/scratch", "emptyDir": {}},
        ],
    },
}
NODE_STORE: Object = {
    "apiVersion": "worker.gpustack.ai/v1",
    "kind": "NodeModelStore",
    "metadata": {"name": "node-1"},
    "spec": {
        "watermarks": {"highPercent": 80, "lowPercent": 70},
        "download": {"concurrency": 8, "bytesPerSecond": 1048576},
        "hub": {
            "huggingFaceEndpoint": "https://huggingface.co",
            "modelScopeEndpoint": "https://www.modelscope.cn",
            "httpsProxy": "http://proxy.example.com:3128",
            "noProxy": "localhost,.cluster.local",
            "caBundleConfigMap": "ca",
        },
        "kubelet": {"nodefsAvailable": "10%", "imagefsAvailable": "15%", "imageGCHighThresholdPercent": 85},
        "pinned": [DIGEST],
    },
}
SETTING: Object = {
    "apiVersion": "gpustack.ai/v1",
    "kind": "Setting",
    "metadata": {"name": "model-artifact-revalidate-interval", "namespace": "default"},
    "spec": {"value": "24h"},
}

ALL: dict[str, Object] = {
    "hugging-face": HUGGING_FACE,
    "model-scope": MODEL_SCOPE,
    "claim": CLAIM,
    "image": IMAGE,
    "deployment": DEPLOYMENT,
    "instance": INSTANCE,
    "node-store": NODE_STORE,
    "setting": SETTING,
}
