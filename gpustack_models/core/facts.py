"""Owns what is known of the cluster when a workload is rendered: claims, nodes, the driver, the settings in force.

Refuses to read a cluster: facts are made from objects that others read, or from what a person states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gpustack_models.core import paths
from gpustack_models.core.nodestore import DRIVER, NodeModelStore
from gpustack_models.core.resource import JsonObject
from gpustack_models.core.setting import DEFAULTS, Settings

HOSTNAME_LABEL = "kubernetes.io/hostname"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


class ClaimPhase(StrEnum):
    """Where a claim stands (core/v1 PersistentVolumeClaimPhase)."""

    PENDING = "Pending"
    BOUND = "Bound"
    LOST = "Lost"


class BindingMode(StrEnum):
    """When a class binds a claim (storage.k8s.io/v1 VolumeBindingMode)."""

    IMMEDIATE = "Immediate"
    WAIT = "WaitForFirstConsumer"


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim with its class and volume.

    `node_affinity` is the volume's `spec.nodeAffinity.required`; `other_pods` counts the Pods of others that mount the
    claim now; `binding_mode` is None without a class.
    """

    name: str
    phase: ClaimPhase
    access_modes: tuple[str, ...] = ()
    storage_class: str = ""
    binding_mode: BindingMode | None = None
    provisioner: str = ""
    volume: str = ""
    node_affinity: JsonObject | None = None
    deleting: bool = False
    other_pods: int = 0

    @classmethod
    def of(
        cls, claim: JsonObject, storage_class: JsonObject | None, volume: JsonObject | None, other_pods: int = 0
    ) -> Claim:
        """From the three objects; a class or a volume that could not be read is None."""
        mode = (storage_class or {}).get("volumeBindingMode") or BindingMode.IMMEDIATE
        return cls(
            name=claim["metadata"]["name"],
            phase=ClaimPhase(paths.get(claim, ("status", "phase")) or ClaimPhase.PENDING),
            access_modes=tuple(
                paths.get(claim, ("status", "accessModes")) or paths.get(claim, ("spec", "accessModes")) or ()
            ),
            storage_class=paths.get(claim, ("spec", "storageClassName")) or "",
            binding_mode=BindingMode(mode) if storage_class is not None else None,
            provisioner=(storage_class or {}).get("provisioner", ""),
            volume=paths.get(claim, ("spec", "volumeName")) or "",
            node_affinity=paths.get(volume, ("spec", "nodeAffinity", "required")),
            deleting="deletionTimestamp" in claim["metadata"],
            other_pods=other_pods,
        )


@dataclass(frozen=True, slots=True)
class Node:
    """A node as far as it matters to weights. `hostname` is its label, empty when it has none.

    `lists_driver` is whether its CSINode lists the model driver now; `images` are the names in `status.images`.
    """

    name: str
    hostname: str = ""
    lists_driver: bool = False
    store: NodeModelStore | None = None
    images: frozenset[str] = frozenset()
    kubelet_version: str = ""
    runtime_version: str = ""

    @classmethod
    def of(cls, node: JsonObject, csi_node: JsonObject | None, store: NodeModelStore | None) -> Node:
        """From the three objects; a CSINode or a store that could not be read is None."""
        drivers = paths.get(csi_node, ("spec", "drivers")) or ()
        images = paths.get(node, ("status", "images")) or ()
        info = paths.get(node, ("status", "nodeInfo")) or {}
        return cls(
            name=node["metadata"]["name"],
            hostname=(node["metadata"].get("labels") or {}).get(HOSTNAME_LABEL, ""),
            lists_driver=any(driver.get("name") == DRIVER for driver in drivers),
            store=store,
            images=frozenset(name for image in images for name in image.get("names") or ()),
            kubelet_version=info.get("kubeletVersion", ""),
            runtime_version=info.get("containerRuntimeVersion", ""),
        )


@dataclass(frozen=True, slots=True)
class Cluster:
    """The facts of one pass. A claim that is not in `claims` does not exist; `nodes` is None when the read failed."""

    settings: Settings = DEFAULTS
    csi_driver: bool = False
    claims: Mapping[str, Claim] = field(default_factory=dict)
    nodes: tuple[Node, ...] | None = None

    def node(self, name: str) -> Node | None:
        """A node by name, or None when it is not known."""
        return next((node for node in self.nodes or () if node.name == name), None)
