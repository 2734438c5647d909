"""Owns the objects that a person gives for rendering: workloads, artifacts, and what they say of the cluster.

Refuses to judge them (`core.validation` does) and to invent: what is assumed of a claim is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from gpustack_models.core import coreobjects, structure
from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.coreobjects import (
    ClaimPhase,
    CSIDriver,
    CSINode,
    NodeObject,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from gpustack_models.core.facts import Claim, Cluster, Node
from gpustack_models.core.kinds import BY_KIND
from gpustack_models.core.nodestore import DRIVER, NodeModelStore
from gpustack_models.core.resource import DEFAULT_NAMESPACE, JsonObject, Record, Resource
from gpustack_models.core.setting import Setting, Settings

R = TypeVar("R", bound=Resource)
C = TypeVar("C", bound=Record)

#: A stand-in for the identity that an API server gives: an object of a file may not have one yet.
NO_UID = "00000000-0000-0000-0000-000000000000"

_SHARED = ("ReadWriteMany",)


@dataclass(frozen=True, slots=True)
class Stated:
    """What the command line says of the cluster; it wins over the files. A claim of None does not exist."""

    settings: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, Claim | None] = field(default_factory=dict)
    csi_driver: bool | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """The objects of the files."""

    resources: tuple[Resource, ...]
    others: tuple[Record, ...]

    @classmethod
    def of(cls, values: Iterable[JsonObject]) -> Given:
        """From documents that `core.validation` let pass; kinds of no interest are left out.

        Raises GsmError(InvalidInput) for an object of Kubernetes' own that cannot be read.
        """
        resources: list[Resource] = []
        others: list[Record] = []
        for value in values:
            kind = value["kind"]
            resource = BY_KIND.get(kind)
            if resource is not None and value["apiVersion"] == resource.KIND.api_version:
                resources.append(_with_uid(resource.parse(structure.prepared(resource, value))))
            elif kind in coreobjects.KINDS:
                others.append(coreobjects.read(coreobjects.KINDS[kind], value))
        return cls(tuple(resources), tuple(others))

    def every(self, kind: type[R]) -> tuple[R, ...]:
        """The objects of a kind, by namespace and name."""
        found = [resource for resource in self.resources if isinstance(resource, kind)]
        return tuple(sorted(found, key=lambda each: (namespace_of(each), each.name)))

    def core(self, kind: type[C]) -> tuple[C, ...]:
        """The objects of one of Kubernetes' own kinds, in the order of the files."""
        return tuple(each for each in self.others if isinstance(each, kind))

    def artifacts(self, namespace: str) -> dict[str, ModelArtifact]:
        """A namespace's artifacts, by name."""
        return {each.name: each for each in self.every(ModelArtifact) if namespace_of(each) == namespace}

    def with_artifacts(self, artifacts: Iterable[ModelArtifact]) -> Given:
        """The same with artifacts in the place of those of their name."""
        new = {(namespace_of(each), each.name): each for each in artifacts}
        resources = tuple(
            new.get((namespace_of(each), each.name), each) if isinstance(each, ModelArtifact) else each
            for each in self.resources
        )
        return replace(self, resources=resources)


def namespace_of(resource: Resource) -> str:
    """An object's namespace, as kubectl would have it."""
    return resource.namespace or DEFAULT_NAMESPACE


def _with_uid(resource: Resource) -> Resource:
    if resource.metadata.uid or not isinstance(resource, ModelArtifact):
        return resource
    return resource.model_copy(update={"metadata": resource.metadata.model_copy(update={"uid": NO_UID})})


def settings(given: Given, stated: Stated) -> Settings:
    """The Settings in force: the command line's, then the files', then the defaults."""
    of_files = {each.name: each.spec.value for each in given.every(Setting)}
    return Settings({**of_files, **stated.settings})


def cluster(given: Given, stated: Stated, namespace: str) -> Cluster:
    """The cluster as one namespace's workloads see it."""
    return Cluster(
        settings=settings(given, stated),
        csi_driver=_has_driver(given, stated),
        claims={name: claim for name, claim in claims(given, stated, namespace).items() if claim is not None},
        nodes=_nodes(given),
    )


def _has_driver(given: Given, stated: Stated) -> bool:
    if stated.csi_driver is not None:
        return stated.csi_driver
    drivers = given.core(CSIDriver)
    # Without any, the files say nothing of drivers, and a laptop assumes the cluster that the person has in mind.
    return not drivers or any(each.metadata.name == DRIVER for each in drivers)


def claims(given: Given, stated: Stated, namespace: str) -> dict[str, Claim | None]:
    """The claims that a namespace's artifacts name: as stated, as in the files, or assumed bound and shared."""
    found = dict.fromkeys(_claims_named(given, namespace))
    return {name: _claim(name, given, stated, namespace) for name in found}


def assumed(given: Given, stated: Stated, namespace: str) -> list[str]:
    """The claims of which nothing is known."""
    return [
        name
        for name in dict.fromkeys(_claims_named(given, namespace))
        if name not in stated.claims and not given.core(PersistentVolumeClaim)
    ]


def _claims_named(given: Given, namespace: str) -> list[str]:
    sources = (each.spec.source.persistent_volume_claim for each in given.artifacts(namespace).values())
    return [source.claim_name for source in sources if source is not None]


def _claim(name: str, given: Given, stated: Stated, namespace: str) -> Claim | None:
    if name in stated.claims:
        return stated.claims[name]
    written = given.core(PersistentVolumeClaim)
    if not written:
        return Claim(name, ClaimPhase.BOUND, _SHARED)
    places = ((each, each.metadata) for each in written)
    found = next(
        (each for each, at in places if at.name == name and (at.namespace or DEFAULT_NAMESPACE) == namespace), None
    )
    if found is None:
        return None
    classes = {each.metadata.name: each for each in given.core(StorageClass)}
    volumes = {each.metadata.name: each for each in given.core(PersistentVolume)}
    return Claim.of(found, classes.get(found.spec.storage_class_name), volumes.get(found.spec.volume_name))


def _nodes(given: Given) -> tuple[Node, ...]:
    stores = {each.name: each for each in given.every(NodeModelStore)}
    csi_nodes = {each.metadata.name: each for each in given.core(CSINode)}
    return tuple(
        Node.of(node, csi_nodes.get(node.metadata.name), stores.get(node.metadata.name))
        for node in given.core(NodeObject)
    )
