"""Owns the few objects of Kubernetes' own that weights depend on, as far as they are read: claims, classes, nodes.

Refuses a value of a wrong type or enumeration, naming the object and the field; the rest of an object is left alone.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from pydantic import ValidationError

from gpustack_models.core.resource import JsonObject, Record, empty_map
from gpustack_models.errors import GsmError, Reason

T = TypeVar("T", bound=Record)


class ClaimPhase(StrEnum):
    """Where a claim stands (core/v1 PersistentVolumeClaimPhase)."""

    PENDING = "Pending"
    BOUND = "Bound"
    LOST = "Lost"


class BindingMode(StrEnum):
    """When a class binds a claim (storage.k8s.io/v1 VolumeBindingMode)."""

    IMMEDIATE = "Immediate"
    WAIT = "WaitForFirstConsumer"


class Metadata(Record):
    """metav1.ObjectMeta, as far as it is read."""

    name: str
    namespace: str = ""
    labels: dict[str, str] = empty_map()
    deletion_timestamp: str | None = None


class ClaimSpec(Record):
    """core/v1 PersistentVolumeClaimSpec."""

    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_name: str = ""


class ClaimStatus(Record):
    """core/v1 PersistentVolumeClaimStatus."""

    phase: ClaimPhase = ClaimPhase.PENDING
    access_modes: tuple[str, ...] = ()


class PersistentVolumeClaim(Record):
    """core/v1 PersistentVolumeClaim."""

    metadata: Metadata
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class StorageClass(Record):
    """storage.k8s.io/v1 StorageClass."""

    metadata: Metadata
    provisioner: str = ""
    volume_binding_mode: BindingMode = BindingMode.IMMEDIATE


class NodeSelector(Record):
    """core/v1 NodeSelector; its terms are ORed."""

    node_selector_terms: tuple[JsonObject, ...] = ()


class VolumeNodeAffinity(Record):
    """core/v1 VolumeNodeAffinity."""

    required: NodeSelector | None = None


class VolumeSpec(Record):
    """core/v1 PersistentVolumeSpec."""

    node_affinity: VolumeNodeAffinity = VolumeNodeAffinity()


class PersistentVolume(Record):
    """core/v1 PersistentVolume."""

    metadata: Metadata
    spec: VolumeSpec = VolumeSpec()


class CSIDriver(Record):
    """storage.k8s.io/v1 CSIDriver."""

    metadata: Metadata


class NodeDriver(Record):
    """storage.k8s.io/v1 CSINodeDriver."""

    name: str


class CSINodeSpec(Record):
    """storage.k8s.io/v1 CSINodeSpec."""

    drivers: tuple[NodeDriver, ...] = ()


class CSINode(Record):
    """storage.k8s.io/v1 CSINode."""

    metadata: Metadata
    spec: CSINodeSpec = CSINodeSpec()


class NodeImage(Record):
    """core/v1 ContainerImage."""

    names: tuple[str, ...] = ()


class NodeInfo(Record):
    """core/v1 NodeSystemInfo."""

    kubelet_version: str = ""
    container_runtime_version: str = ""


class NodeStatus(Record):
    """core/v1 NodeStatus."""

    images: tuple[NodeImage, ...] = ()
    node_info: NodeInfo = NodeInfo()


class NodeObject(Record):
    """core/v1 Node."""

    metadata: Metadata
    status: NodeStatus = NodeStatus()


#: What is read of each kind.
KINDS: dict[str, type[Record]] = {
    "PersistentVolumeClaim": PersistentVolumeClaim,
    "PersistentVolume": PersistentVolume,
    "StorageClass": StorageClass,
    "CSIDriver": CSIDriver,
    "CSINode": CSINode,
    "Node": NodeObject,
}


def read(kind: type[T], value: JsonObject) -> T:
    """Read an object. Raises GsmError(InvalidInput) that names it and its first unreadable field."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        metadata = value.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, dict) else ""
        raise GsmError(Reason.INVALID_INPUT, f"{value.get('kind')} {name!r}: {path}: {first['msg']}") from error
