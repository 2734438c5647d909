"""Owns what is known of the cluster when a workload is rendered: claims, nodes, the driver, the settings in force.

Refuses to read a cluster: facts are made from objects that others read, or from what a person states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpustack_models.core.coreobjects import (
    BindingMode,
    ClaimPhase,
    CSINode,
    NodeObject,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from gpustack_models.core.nodestore import DRIVER, NodeModelStore
from gpustack_models.core.resource import JsonObject
from gpustack_models.core.setting import DEFAULTS, Settings

HOSTNAME_LABEL = "kubernetes.io/hostname"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim with its class and volume.

    `node_terms` are the volume's required node selector terms, ORed; `other_pods` counts the Pods of others that mount
    the claim now; `binding_mode` is None without a class.
    """

    name: str
    phase: ClaimPhase
    access_modes: tuple[str, ...] = ()
    storage_class: str = ""
    binding_mode: BindingMode | None = None
    provisioner: str = ""
    volume: str = ""
    node_terms: tuple[JsonObject, ...] | None = None
    deleting: bool = False
    other_pods: int = 0

    @classmethod
    def of(
        cls,
        claim: PersistentVolumeClaim,
        storage_class: StorageClass | None,
        volume: PersistentVolume | None,
        other_pods: int = 0,
    ) -> Claim:
        """From the three objects; a class or a volume that does not exist or could not be read is None."""
        required = volume.spec.node_affinity.required if volume is not None else None
        return cls(
            name=claim.metadata.name,
            phase=claim.status.phase,
            access_modes=claim.status.access_modes or claim.spec.access_modes,
            storage_class=claim.spec.storage_class_name,
            binding_mode=storage_class.volume_binding_mode if storage_class is not None else None,
            provisioner=storage_class.provisioner if storage_class is not None else "",
            volume=claim.spec.volume_name,
            node_terms=required.node_selector_terms if required is not None else None,
            deleting=claim.metadata.deletion_timestamp is not None,
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
    def of(cls, node: NodeObject, csi_node: CSINode | None, store: NodeModelStore | None) -> Node:
        """From the three objects; a CSINode or a store that does not exist or could not be read is None."""
        drivers = csi_node.spec.drivers if csi_node is not None else ()
        return cls(
            name=node.metadata.name,
            hostname=node.metadata.labels.get(HOSTNAME_LABEL, ""),
            lists_driver=any(driver.name == DRIVER for driver in drivers),
            store=store,
            images=frozenset(name for image in node.status.images for name in image.names),
            kubelet_version=node.status.node_info.kubelet_version,
            runtime_version=node.status.node_info.container_runtime_version,
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
