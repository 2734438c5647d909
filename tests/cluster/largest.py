"""Owns the largest objects that the limits allow, as far as an API server takes objects of their size at all.

Refuses to be realistic: what counts is what a rule may cost.
"""

from __future__ import annotations

from gpustack_models.core.nodestore import MAX_PINNED
from tests.resources import CLAIM, DEPLOYMENT, HUGGING_FACE, IMAGE, INSTANCE, NODE_STORE, SETTING, Object

_NAME = ".".join(["x" * 60] * 4)
_PATH = "/" + "/".join(["p" * 30] * 16)


def _role(number: int) -> Object:
    return {
        "name": f"{'r' * 60}{number:03}",
        "image": "i" * 1024,
        "command": ["c" * 100] * 64,
        "extraArgs": ["--flag=" + "v" * 20] * 256,
        "env": [{"name": f"{'E' * 250}{index}", "value": "v" * 20} for index in range(256)],
        "volumes": [
            {"name": f"{'v' * 60}{index:03}", "mountPath": f"{_PATH}/{index}", "emptyDir": {}} for index in range(32)
        ],
        "labels": {f"example.com/{'l' * 50}{index}": "v" * 63 for index in range(64)},
        "nodeSelector": {f"example.com/{'s' * 50}{index}": "v" * 63 for index in range(64)},
        "tolerations": [{"key": "k" * 60, "operator": "Exists"}] * 64,
        "imagePullSecrets": [{"name": _NAME}] * 32,
        "serviceAccountName": _NAME,
    }


def _spec(base: Object, **spec: object) -> Object:
    return {**base, "metadata": {**base["metadata"]}, "spec": {**base["spec"], **spec}}


LARGEST: dict[str, Object] = {
    "hub": _spec(
        HUGGING_FACE,
        source={
            "huggingFace": {
                "repository": f"{'o' * 96}/{'n' * 96}",
                "revision": "/".join(["r" * 50] * 5),
                "secretRef": {"name": _NAME},
            }
        },
        allowPatterns=["a" * 256] * 32,
        ignorePatterns=["i" * 256] * 32,
    ),
    "claim": _spec(CLAIM, source={"persistentVolumeClaim": {"claimName": _NAME, "path": "/".join(["p" * 30] * 32)}}),
    "image": _spec(
        IMAGE, source={"image": {"reference": f"registry.example.com/{'/'.join(['a' * 90] * 10)}@sha256:{'a' * 64}"}}
    ),
    "deployment": _spec(
        DEPLOYMENT,
        model={"name": "m" * 253, "artifactRef": {"name": _NAME}},
        roles=[_role(number) for number in range(10)],
    ),
    "instance": _spec(
        INSTANCE,
        image="i" * 1024,
        env=[{"name": f"{'E' * 250}{index}", "value": "v" * 1000} for index in range(256)],
        labels=_role(0)["labels"],
        nodeSelector=_role(0)["nodeSelector"],
        nodeName=_NAME,
        additionalVolumes=[
            {"mountPath": f"{_PATH}/{index}", "model": {"artifactRef": {"name": _NAME}}} for index in range(32)
        ],
    ),
    "node-store": _spec(
        NODE_STORE,
        hub={
            "huggingFaceEndpoint": "https://h/" + "p" * 2000,
            "modelScopeEndpoint": "https://m/" + "p" * 2000,
            "httpsProxy": "https://p/" + "p" * 2000,
            "noProxy": ",".join(["n" * 60] * 65),
            "caBundleConfigMap": _NAME,
        },
        pinned=[f"sha256:{index:064x}" for index in range(MAX_PINNED)],
    ),
    "setting": {
        **SETTING,
        "metadata": {"name": "model-artifact-no-proxy", "namespace": "default"},
        "spec": {"value": ",".join(["n" * 60] * 67)},
    },
}
