"""Owns the few Kubernetes core types that a field of ours carries, as far as they are read.

Refuses to restate Kubernetes: members that are not read here are kept as they are, and the API server judges them
when the Pod is made.
"""

from __future__ import annotations

from typing import Annotated

from gpustack_models.core.forms import QUANTITY
from gpustack_models.core.resource import Field, IntOrString, JsonObject, Limits, Record, empty_map

#: How long a path inside a container may be: a rule is run on every path, and what it may cost is bounded.
MAX_PATH = 512

_LIST = Limits(max_size=64)
_QUANTITY = Limits(pattern=QUANTITY, rule="quantity-form")


class EnvVar(Record):
    """An environment variable (core/v1 EnvVar); `valueFrom` is kept as it is."""

    name: Annotated[str, Field("Name of the variable.", Limits(min_size=1, max_size=256))]
    value: Annotated[str | None, Field("Value; `$(NAME)` refers to another variable.", Limits(max_size=32768))] = None
    value_from: Annotated[JsonObject | None, Field("Where the value is read (core/v1 EnvVarSource).")] = None


class ResourceRequirements(Record):
    """Compute resources (core/v1 ResourceRequirements)."""

    limits: Annotated[
        dict[str, IntOrString], Field("The most of each resource that may be used.", _LIST, _QUANTITY)
    ] = empty_map()
    requests: Annotated[dict[str, IntOrString], Field("What is set aside of each resource.", _LIST, _QUANTITY)] = (
        empty_map()
    )
    claims: Annotated[
        tuple[JsonObject, ...],
        Field("Names of resource claims of the Pod (core/v1 ResourceClaim).", Limits(max_size=32), atomic=True),
    ] = ()


_Source = Annotated[JsonObject | None, Field("Volume source of core/v1 Volume, kept as it is.")]


class VolumeSource(Record):
    """The members of core/v1 VolumeSource: named, so that a misspelt one is found; their content is kept as it is."""

    aws_elastic_block_store: _Source = None
    azure_disk: _Source = None
    azure_file: _Source = None
    cephfs: _Source = None
    cinder: _Source = None
    config_map: _Source = None
    csi: _Source = None
    downward_api: _Source = None
    empty_dir: _Source = None
    ephemeral: _Source = None
    fc: _Source = None
    flex_volume: _Source = None
    flocker: _Source = None
    gce_persistent_disk: _Source = None
    git_repo: _Source = None
    glusterfs: _Source = None
    host_path: _Source = None
    image: _Source = None
    iscsi: _Source = None
    nfs: _Source = None
    persistent_volume_claim: _Source = None
    photon_persistent_disk: _Source = None
    portworx_volume: _Source = None
    projected: _Source = None
    quobyte: _Source = None
    rbd: _Source = None
    scale_io: _Source = None
    secret: _Source = None
    storageos: _Source = None
    vsphere_volume: _Source = None

    @property
    def source(self) -> JsonObject:
        """The volume source, empty when none is written."""
        return {name: value for name, value in self.to_object().items() if name in SOURCES}


class MountedVolume(VolumeSource):
    """A volume together with its mount: the members of core/v1 Volume, and where it appears in the container."""

    name: Annotated[str, Field("Name of the volume, unique in the role: a DNS label.", Limits(min_size=1, max_size=63))]
    mount_path: Annotated[
        str,
        Field("Where it is mounted: an absolute path without `..`.", Limits(min_size=1, max_size=MAX_PATH)),
    ]
    sub_path: Annotated[str | None, Field("Directory inside the volume.", Limits(max_size=MAX_PATH))] = None
    read_only: Annotated[bool, Field("Whether it is mounted read-only.")] = False

    @property
    def volume(self) -> JsonObject:
        """The core Volume: everything but the mount."""
        return {"name": self.name, **self.source}

    @property
    def mount(self) -> JsonObject:
        """The core VolumeMount."""
        mount: JsonObject = {"name": self.name, "mountPath": self.mount_path}
        if self.sub_path:
            mount["subPath"] = self.sub_path
        if self.read_only:
            mount["readOnly"] = True
        return mount


#: The members of core/v1 VolumeSource, by name.
SOURCES: tuple[str, ...] = tuple(info.alias or name for name, info in VolumeSource.model_fields.items())
