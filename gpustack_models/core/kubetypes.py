"""Owns the few Kubernetes core types that a field of ours carries, as far as they are read.

Refuses to restate Kubernetes: members that are not read here are kept as they are, and the API server judges them
when the Pod is made.
"""

from __future__ import annotations

from typing import Annotated

from gpustack_models.core.resource import Field, JsonObject, Limits, Quantity, Record, empty_map

#: Where a path inside a container may be: Linux's own limit is 4096; mounts this deep are mistakes.
MAX_PATH = 1024


class EnvVar(Record):
    """An environment variable (core/v1 EnvVar); `valueFrom` is kept as it is."""

    CLOSED = False

    name: Annotated[str, Field("Name of the variable.", Limits(min_size=1, max_size=256))]
    value: Annotated[str | None, Field("Value; `$(NAME)` refers to another variable.", Limits(max_size=32768))] = None


class ResourceRequirements(Record):
    """Compute resources (core/v1 ResourceRequirements)."""

    CLOSED = False

    limits: Annotated[
        dict[str, Quantity], Field("The most of each resource that may be used.", Limits(max_size=64))
    ] = empty_map()
    requests: Annotated[dict[str, Quantity], Field("What is set aside of each resource.", Limits(max_size=64))] = (
        empty_map()
    )


class MountedVolume(Record):
    """A volume together with its mount: the members of core/v1 Volume, and where it appears in the container."""

    CLOSED = False

    name: Annotated[str, Field("Name of the volume, unique in the role.", Limits(min_size=1, max_size=63))]
    mount_path: Annotated[
        str,
        Field("Where it is mounted: an absolute path without `..`.", Limits(min_size=1, max_size=MAX_PATH)),
    ]
    sub_path: Annotated[str | None, Field("Directory inside the volume.", Limits(max_size=MAX_PATH))] = None
    read_only: Annotated[bool, Field("Whether it is mounted read-only.")] = False

    @property
    def volume(self) -> JsonObject:
        """The core Volume: everything but the mount."""
        return {"name": self.name, **(self.model_extra or {})}

    @property
    def mount(self) -> JsonObject:
        """The core VolumeMount."""
        mount: JsonObject = {"name": self.name, "mountPath": self.mount_path}
        if self.sub_path:
            mount["subPath"] = self.sub_path
        if self.read_only:
            mount["readOnly"] = True
        return mount
