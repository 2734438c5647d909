"""Owns the Instance: one Pod of a person's own, with models mounted, and how it stands.

Refuses to render: `core.delivery` does, from this and the artifacts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

from gpustack_models.core.kubetypes import MAX_PATH, EnvVar, ResourceRequirements, VolumeSource
from gpustack_models.core.resource import (
    AGE,
    Column,
    Field,
    JsonObject,
    Kind,
    Limits,
    LocalReference,
    Record,
    Resource,
    empty_map,
)


class InstancePhase(StrEnum):
    """An instance at a glance."""

    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    STOPPED = "Stopped"
    FAILED = "Failed"
    DELETING = "Deleting"


class ModelVolume(Record):
    """A model as a volume."""

    artifact_ref: Annotated[
        LocalReference,
        Field("ModelArtifact in this namespace. It may not exist or resolve yet: no Pod is created until it does."),
    ]


class AdditionalVolume(VolumeSource):
    """A volume and where it is mounted: a model, or one source of core/v1 Volume."""

    mount_path: Annotated[
        str,
        Field(
            "Where it is mounted: an absolute path without `..`, unique in the Instance.",
            Limits(min_size=1, max_size=MAX_PATH),
        ),
    ]
    model: Annotated[
        ModelVolume | None,
        Field(
            "The weights of a ModelArtifact. Always read-only, without `subPath`; a hub's weights come through the "
            "node plugin whatever `model-artifact-delivery-mode` says."
        ),
    ] = None
    sub_path: Annotated[
        str | None, Field("Directory inside the volume; not for a model.", Limits(max_size=MAX_PATH))
    ] = None
    read_only: Annotated[bool | None, Field("Whether it is mounted read-only; a model always is.")] = None


class InstanceSpec(Record):
    """What is to run."""

    image: Annotated[str, Field("Container image.", Limits(min_size=1, max_size=1024))]
    command: Annotated[
        tuple[str, ...],
        Field(
            "The container's command; empty is the image's own.",
            Limits(max_size=256),
            Limits(max_size=32768),
            atomic=True,
        ),
    ] = ()
    args: Annotated[
        tuple[str, ...],
        Field(
            "Arguments of the command; empty is the image's own.",
            Limits(max_size=256),
            Limits(max_size=32768),
            atomic=True,
        ),
    ] = ()
    env: Annotated[tuple[EnvVar, ...], Field("Environment (core/v1 EnvVar).", Limits(max_size=256), atomic=True)] = ()
    resources: Annotated[ResourceRequirements, Field("Compute resources (core/v1 ResourceRequirements).")] = (
        ResourceRequirements()
    )
    ports: Annotated[
        tuple[JsonObject, ...],
        Field("Ports of the container (core/v1 ContainerPort).", Limits(max_size=64), atomic=True),
    ] = ()
    node_name: Annotated[
        str,
        Field(
            "Pins the Instance to this node. With an image artifact it waits while that node cannot mount images.",
            Limits(max_size=253),
        ),
    ] = ""
    node_selector: Annotated[
        dict[str, str], Field("Labels that the node must have.", Limits(max_size=64), Limits(max_size=63))
    ] = empty_map()
    tolerations: Annotated[
        tuple[JsonObject, ...],
        Field("Taints that are tolerated (core/v1 Toleration).", Limits(max_size=64), atomic=True),
    ] = ()
    labels: Annotated[dict[str, str], Field("Labels for the Pod.", Limits(max_size=64), Limits(max_size=63))] = (
        empty_map()
    )
    image_pull_secrets: Annotated[
        tuple[LocalReference, ...],
        Field("Secrets in this namespace that pull `image`.", Limits(max_size=32), atomic=True),
    ] = ()
    stop: Annotated[bool, Field("Whether it is stopped: it then has no Pod.")] = False
    additional_volumes: Annotated[
        tuple[AdditionalVolume, ...],
        Field(
            "Volumes of the Instance, models among them.",
            Limits(max_size=32),
            keys=("mountPath",),
            duplicate_rule="instance-volume-path-unique",
        ),
    ] = ()


class InstanceStatus(Record):
    """How the Instance stands. Written by the operator."""

    observed_generation: Annotated[int | None, Field("The generation that this status speaks of.")] = None
    phase: Annotated[str | None, Field("The Instance at a glance.", Limits(one_of=tuple(InstancePhase)))] = None
    phase_message: Annotated[str | None, Field("Why, for a person: what it waits for.", Limits(max_size=32768))] = None
    pod_name: Annotated[str | None, Field("Its Pod.", Limits(max_size=253))] = None
    node_name: Annotated[str | None, Field("The node that its Pod runs on.", Limits(max_size=253))] = None


class Instance(Resource):
    """One Pod of a person's own, with the weights of ModelArtifacts mounted read-only."""

    KIND: ClassVar[Kind] = Kind(
        "worker.gpustack.ai",
        "Instance",
        "instances",
        "inst",
        columns=(
            Column("Phase", "string", ".status.phase"),
            Column("Node", "string", ".status.nodeName"),
            Column("Message", "string", ".status.phaseMessage", wide=True),
            AGE,
        ),
    )

    spec: Annotated[InstanceSpec, Field("What is to run.")]
    status: Annotated[InstanceStatus, Field("How it stands.")] = InstanceStatus()
