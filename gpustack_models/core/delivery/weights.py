"""Owns what each delivery puts into a Pod: the model's name on the engine's line, volumes, mounts, environment.

Refuses to decide whether a Pod may be created.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from gpustack_models.core.artifact import TOKEN_KEY, HubSource, ModelArtifact, Resolved
from gpustack_models.core.delivery.decision import MODELSCOPE_ENDPOINT
from gpustack_models.core.deployment import CACHE_PATH, MODEL_PATH, Delivery
from gpustack_models.core.engines.line import Weights
from gpustack_models.core.nodestore import DRIVER
from gpustack_models.core.resource import JsonObject
from gpustack_models.core.setting import Settings

HUGGINGFACE_ENDPOINT = "model-artifact-huggingface-endpoint"
HTTPS_PROXY = "model-artifact-https-proxy"
NO_PROXY = "model-artifact-no-proxy"

MODEL_VOLUME = "gpustack-model"
CACHE_VOLUME = "gpustack-model-cache"
GIB = 1 << 30
IDENTITY_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Mounted:
    """What a delivery mounts: the Pod's volume, and the container's mount of it."""

    volume: JsonObject
    mount: JsonObject


def mounted(artifact: ModelArtifact, delivery: Delivery, name: str = MODEL_VOLUME, path: str = MODEL_PATH) -> Mounted:
    """The read-only mount of a claim, a node's copy or an image (workloads.md, "Delivery"). Not for `Engine`."""
    mount: JsonObject = {"name": name, "mountPath": path, "readOnly": True}
    source = artifact.spec.source
    if source.persistent_volume_claim is not None:
        claim = source.persistent_volume_claim
        if claim.path.strip("/"):
            mount["subPath"] = claim.path.strip("/")
        volume: JsonObject = {"persistentVolumeClaim": {"claimName": claim.claim_name, "readOnly": True}}
    elif source.image is not None:
        volume = {"image": {"reference": source.image.reference, "pullPolicy": "IfNotPresent"}}
    elif delivery is Delivery.NODE:
        volume = {"csi": _csi(artifact)}
    else:
        raise ValueError(f"{delivery} delivery mounts nothing")
    return Mounted({"name": name, **volume}, mount)


def _csi(artifact: ModelArtifact) -> JsonObject:
    resolved = artifact.status.resolved or Resolved()
    csi: JsonObject = {
        "driver": DRIVER,
        "readOnly": True,
        "volumeAttributes": {
            "artifact": artifact.name,
            "artifactUID": artifact.metadata.uid,
            "manifestDigest": resolved.manifest_digest,
        },
    }
    hub = artifact.spec.source.hub
    # An Expected identity reads no hub, and kubelet mounts nothing while a Secret that it must send is missing.
    if hub is not None and hub.secret_ref is not None and resolved.digest_source != "Expected":
        csi["nodePublishSecretRef"] = {"name": hub.secret_ref.name}
    return csi


def weights(artifact: ModelArtifact, delivery: Delivery) -> Weights:
    """What the engine's line names as the model."""
    hub = artifact.spec.source.hub
    if delivery is Delivery.ENGINE and hub is not None:
        return Weights(hub.repository, (artifact.status.resolved or Resolved()).revision or "")
    return Weights(MODEL_PATH)


def cache_size(size: int) -> int:
    """Bytes of the cache that an engine downloads into: a tenth more than the manifest, and at least 1 GiB more."""
    return max(-(-size * 11 // 10), size + GIB)


def cache(artifact: ModelArtifact) -> tuple[Mounted, int]:
    """The emptyDir of `Engine` delivery, and its size in bytes."""
    size = cache_size((artifact.status.resolved or Resolved()).size_bytes or 0)
    volume = {"name": CACHE_VOLUME, "emptyDir": {"sizeLimit": str(size)}}
    return Mounted(volume, {"name": CACHE_VOLUME, "mountPath": CACHE_PATH}), size


def environment(artifact: ModelArtifact, settings: Settings, switch: str, own: frozenset[str]) -> list[JsonObject]:
    """The variables of `Engine` delivery (model-artifact.md, "Engine delivery").

    `switch` is the engine's ModelScope variable. Of the proxies, those that the role sets itself (`own`) are left out.
    """
    source = artifact.spec.source
    hub = source.hub
    if source.model_scope is not None:
        owned: Mapping[str, str] = {
            "MODELSCOPE_CACHE": CACHE_PATH,
            "MODELSCOPE_DOMAIN": urlsplit(settings[MODELSCOPE_ENDPOINT]).netloc,
            switch: "true",
        }
        token = "MODELSCOPE_API_TOKEN"  # noqa: S105 - the name of a variable
    else:
        owned = {"HF_HOME": CACHE_PATH, "HF_ENDPOINT": settings[HUGGINGFACE_ENDPOINT]}
        token = "HF_TOKEN"  # noqa: S105 - the name of a variable
    rendered: list[JsonObject] = [{"name": name, "value": value} for name, value in owned.items()]
    if hub is not None and hub.secret_ref is not None:
        rendered.append(_secret(token, hub))
    proxies = {"HTTPS_PROXY": settings[HTTPS_PROXY].strip(), "NO_PROXY": settings[NO_PROXY].strip()}
    rendered += [{"name": name, "value": value} for name, value in proxies.items() if value and name not in own]
    return rendered


def _secret(variable: str, hub: HubSource) -> JsonObject:
    name = hub.secret_ref.name if hub.secret_ref is not None else ""
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": TOKEN_KEY}}}


def identity(artifact: ModelArtifact) -> str:
    """The weights' identity in the KV store's keys: `m-` and 32 hex digits (model-artifact.md, "The KV reuse domain").

    Of the manifest digest; for a claim or an image, which have none, of the SHA-256 of the artifact's UID.
    """
    if artifact.spec.source.hub is None:
        return identity_of_uid(artifact.metadata.uid)
    digest = ((artifact.status.resolved or Resolved()).manifest_digest or "").removeprefix("sha256:")
    return f"m-{digest[:IDENTITY_DIGITS]}"


def identity_of_uid(uid: str) -> str:
    """The identity of an artifact that has no digest."""
    return f"m-{hashlib.sha256(uid.encode()).hexdigest()[:IDENTITY_DIGITS]}"
