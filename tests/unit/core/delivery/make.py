"""Owns the objects that the delivery tests are made of: artifacts by source, deployments, clusters.

Refuses randomness and the world.
"""

from __future__ import annotations

from typing import Any

from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.coreobjects import ClaimPhase
from gpustack_models.core.deployment import ModelDeployment
from gpustack_models.core.facts import Claim, Cluster
from gpustack_models.core.setting import Settings

COMMIT = "7ae557604adf67be50417f59c2c2f167def9a775"
DIGEST = "sha256:669ed7b128b6ad1658d735326bd172a33497ecdb8bbd72dd0b23c98b58469448"
SIZE = 999604126
UID = "3f0c1a52-8f5e-4f43-9f0b-7b8c1f2d3e4a"
IMAGE = f"registry.example.com/team/qwen@{DIGEST}"
REPOSITORY = "Qwen/Qwen2.5-7B-Instruct"

SOURCES: dict[str, dict[str, Any]] = {
    "claim": {"persistentVolumeClaim": {"claimName": "models", "path": "qwen"}},
    "huggingFace": {"huggingFace": {"repository": REPOSITORY, "secretRef": {"name": "hf-token"}}},
    "modelScope": {"modelScope": {"repository": "qwen/Qwen2.5-7B-Instruct", "secretRef": {"name": "ms-token"}}},
    "image": {"image": {"reference": IMAGE}},
}
HUBS = ("huggingFace", "modelScope")
RESOLVED = {"revision": COMMIT, "manifestDigest": DIGEST, "digestSource": "Hub", "fileCount": 10, "sizeBytes": SIZE}
EXPECTED = {"manifestDigest": DIGEST, "digestSource": "Expected"}


def is_resolved(status: str = "True", reason: str = "Resolved", message: str = "") -> dict[str, Any]:
    return {"type": "Resolved", "status": status, "reason": reason, "message": message}


def artifact(source: str, *, spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None) -> ModelArtifact:
    resolved = {"resolved": RESOLVED} if source in HUBS else {}
    return ModelArtifact.parse(
        {
            "apiVersion": "worker.gpustack.ai/v1",
            "kind": "ModelArtifact",
            "metadata": {"name": "qwen", "namespace": "team-a", "uid": UID},
            "spec": {"source": SOURCES[source], **(spec or {})},
            "status": {"conditions": [is_resolved()], **resolved} if status is None else status,
        }
    )


def role(**members: Any) -> dict[str, Any]:
    return {"name": "server", "image": "engine:1", "port": 8000, **members}


def deployment(
    engine: str = "vLLM",
    *roles: dict[str, Any],
    named: bool = True,
    kv: dict[str, Any] | None = None,
    manufacturer: str = "",
    **metadata: Any,
) -> ModelDeployment:
    spec: dict[str, Any] = {
        "model": {"name": "qwen-7b", **({"artifactRef": {"name": "qwen"}} if named else {})},
        "engine": {"name": engine, "manufacturer": manufacturer},
        "roles": list(roles) or [role()],
    }
    if kv is not None:
        spec["kvCache"] = {"connector": "Mooncake", "config": kv}
    return ModelDeployment.parse(
        {
            "apiVersion": "worker.gpustack.ai/v1",
            "kind": "ModelDeployment",
            "metadata": {"name": "chat", "namespace": "team-a", "uid": "d-uid", **metadata},
            "spec": spec,
        }
    )


def settings(mode: str = "Engine", **more: str) -> Settings:
    names = {"model_artifact_" + name: value for name, value in more.items()}
    values = {name.replace("_", "-"): value for name, value in names.items()}
    return Settings({"model-artifact-delivery-mode": mode, **values})


def bound(**members: Any) -> Claim:
    return Claim(name="models", phase=ClaimPhase.BOUND, access_modes=("ReadOnlyMany",), **members)


def cluster(mode: str = "Engine", *, driver: bool = True, claim: Claim | None = None, **more: str) -> Cluster:
    return Cluster(settings=settings(mode, **more), csi_driver=driver, claims={"models": claim or bound()})
