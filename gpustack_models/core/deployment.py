"""Owns the ModelDeployment: an engine's roles around one model, and how they stand.

Refuses to render: `core.delivery` does, from this and the artifact.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from gpustack_models.core.kubetypes import EnvVar, MountedVolume, ResourceRequirements
from gpustack_models.core.resource import (
    AGE,
    Column,
    Condition,
    Field,
    JsonObject,
    Kind,
    Limits,
    LocalReference,
    Record,
    Resource,
    empty_map,
)

#: Where a claim, a node's copy or an image is mounted, and where an engine downloads into.
MODEL_PATH = "/var/lib/gpustack/model"
CACHE_PATH = "/var/lib/gpustack/model-cache"


class EngineName(StrEnum):
    """The inference engines that a managed role can run."""

    VLLM = "vLLM"
    SGLANG = "SGLang"


class Manufacturer(StrEnum):
    """Whose accelerator the engine runs on, where its command line differs."""

    ANY = ""
    ASCEND = "ascend"


class RoleKind(StrEnum):
    """What a role does in serving."""

    SERVER = "Server"
    PREFILL = "Prefill"
    DECODE = "Decode"


class Connector(StrEnum):
    """The KV store connectors."""

    MOONCAKE = "Mooncake"


class Delivery(StrEnum):
    """How weights reach a Pod (`status.model.delivery`)."""

    PVC = "PVC"
    ENGINE = "Engine"
    NODE = "Node"
    IMAGE = "Image"


class Phase(StrEnum):
    """A deployment at a glance."""

    STARTING = "Starting"
    READY = "Ready"
    DEGRADED = "Degraded"
    DELETING = "Deleting"


def _values(enumeration: type[StrEnum]) -> Limits:
    return Limits(one_of=tuple(enumeration))


class Model(Record):
    """What is served. Frozen: other weights are another deployment."""

    name: Annotated[
        str,
        Field(
            "The served name: what requests name as `model`. Managed roles serve exactly this name. With SGLang it "
            "holds no `:`.",
            Limits(min_size=1, max_size=253),
        ),
    ]
    artifact_ref: Annotated[
        LocalReference | None,
        Field(
            "ModelArtifact in this namespace that the weights come from. It may not exist or resolve yet: no Pod is "
            "created until it does. Without one, the engine is started with `name` and nothing else is rendered."
        ),
    ] = None


class Engine(Record):
    """The engine of the managed roles. Frozen."""

    name: Annotated[EngineName, Field("The engine.", Limits(one_of=tuple(EngineName), rule="deployment-engine"))]
    version: Annotated[str, Field("Its version; informative.", Limits(max_size=64))] = ""
    manufacturer: Annotated[
        Manufacturer, Field("Whose accelerator it runs on, where its command line differs.", _values(Manufacturer))
    ] = Manufacturer.ANY


class KVCache(Record):
    """A KV store shared between replicas; its keys are prefixed with the identity of the weights. Frozen."""

    connector: Annotated[Connector, Field("The store's connector.", _values(Connector))] = Connector.MOONCAKE
    config: Annotated[
        dict[str, Any],
        Field("The store connector's own keys, passed through. They never override the operator's."),
    ] = empty_map()


class Role(Record):
    """A set of equal replicas. Frozen but for `replicas`."""

    name: Annotated[
        str, Field("Name of the role, unique in the deployment: a DNS label.", Limits(min_size=1, max_size=63))
    ]
    kind: Annotated[RoleKind, Field("What the role does in serving.", _values(RoleKind))] = RoleKind.SERVER
    replicas: Annotated[
        int,
        Field(
            "How many Pods; the only member of a role that can change.",
            Limits(minimum=0, maximum=10_000, rule="deployment-replicas"),
        ),
    ] = 1
    image: Annotated[str, Field("Container image.", Limits(min_size=1, max_size=1024))]
    command: Annotated[
        tuple[str, ...],
        Field(
            "The container's command. When set, this is a take-over role: the operator renders no engine line, no "
            "probes and no environment, only the mount of the weights.",
            Limits(max_size=64),
            Limits(max_size=32768),
            atomic=True,
        ),
    ] = ()
    extra_args: Annotated[
        tuple[str, ...],
        Field(
            "A managed role's own flags, after the operator's. A flag that the operator owns is refused in every "
            "spelling that the engine takes.",
            Limits(max_size=256),
            Limits(max_size=32768),
            atomic=True,
        ),
    ] = ()
    env: Annotated[
        tuple[EnvVar, ...],
        Field(
            "Environment (core/v1 EnvVar). What the operator owns while an artifact is referenced is refused.",
            Limits(max_size=256),
            atomic=True,
        ),
    ] = ()
    port: Annotated[
        int, Field("Port that the engine listens on.", Limits(minimum=1, maximum=65535, rule="deployment-port"))
    ] = 8000
    resources: Annotated[ResourceRequirements, Field("Compute resources (core/v1 ResourceRequirements).")] = (
        ResourceRequirements()
    )
    volumes: Annotated[
        tuple[MountedVolume, ...],
        Field(
            f"Volumes of the role's own: core/v1 Volume, and where it is mounted. While an artifact is referenced, "
            f"none may be at, inside or around `{MODEL_PATH}` or `{CACHE_PATH}`.",
            Limits(max_size=32),
            keys=("name",),
        ),
    ] = ()
    labels: Annotated[
        dict[str, str],
        Field(
            "Labels for the Pods, `kueue.x-k8s.io/queue-name` among them. Those that the operator sets are refused.",
            Limits(max_size=64),
            Limits(max_size=63),
        ),
    ] = empty_map()
    node_selector: Annotated[
        dict[str, str], Field("Labels that a node must have.", Limits(max_size=64), Limits(max_size=63))
    ] = empty_map()
    tolerations: Annotated[
        tuple[JsonObject, ...],
        Field("Taints that are tolerated (core/v1 Toleration).", Limits(max_size=64), atomic=True),
    ] = ()
    image_pull_secrets: Annotated[
        tuple[LocalReference, ...],
        Field("Secrets in this namespace that pull `image`.", Limits(max_size=32), atomic=True),
    ] = ()
    service_account_name: Annotated[
        str, Field("ServiceAccount of the Pods; empty is the namespace's default.", Limits(max_size=253))
    ] = ""

    @property
    def managed(self) -> bool:
        """Whether the operator renders the engine's line; False for a take-over role (one with `command`)."""
        return not self.command


class ModelDeploymentSpec(Record):
    """What is to run."""

    model: Annotated[Model, Field("What is served. Frozen.")]
    engine: Annotated[Engine, Field("The engine of the managed roles. Frozen.")]
    kv_cache: Annotated[KVCache | None, Field("A KV store shared between replicas. Frozen.")] = None
    roles: Annotated[
        tuple[Role, ...],
        Field(
            "The sets of replicas, 1 to 10. Frozen but for their `replicas`; the Service fronts the first role's port.",
            Limits(min_size=1, max_size=10, rule="deployment-roles-count"),
            keys=("name",),
            duplicate_rule="deployment-role-name-unique",
        ),
    ]


class DeployedModel(Record):
    """The artifact as it was resolved for the Pods; an image echoes neither a revision nor a digest."""

    artifact: Annotated[str | None, Field("Name of the ModelArtifact.", Limits(max_size=253))] = None
    revision: Annotated[str | None, Field("Commit.", Limits(max_size=64))] = None
    manifest_digest: Annotated[str | None, Field("Digest of the canonical manifest.", Limits(max_size=71))] = None
    delivery: Annotated[str | None, Field("How the weights reach the Pods.", _values(Delivery))] = None


class RoleStatus(Record):
    """How a role stands."""

    name: Annotated[str, Field("Name of the role.", Limits(min_size=1, max_size=63))]
    kind: Annotated[str, Field("What the role does.", _values(RoleKind))] = RoleKind.SERVER
    desired: Annotated[int, Field("Replicas asked for.", Limits(minimum=0))] = 0
    ready: Annotated[int, Field("Replicas that are Ready.", Limits(minimum=0))] = 0


class ModelDeploymentStatus(Record):
    """How the deployment stands. Written by the operator."""

    observed_generation: Annotated[int | None, Field("The generation that this status speaks of.")] = None
    phase: Annotated[str | None, Field("The deployment at a glance.", _values(Phase))] = None
    phase_message: Annotated[
        str | None,
        Field("Why, for a person; the `WeightsReady` message while nothing may be created.", Limits(max_size=32768)),
    ] = None
    ready: Annotated[str | None, Field("Ready of desired replicas over all roles, such as `1/2`.")] = None
    model: Annotated[DeployedModel | None, Field("The artifact as it was resolved for the Pods.")] = None
    roles: Annotated[tuple[RoleStatus, ...], Field("How each role stands.", Limits(max_size=10), keys=("name",))] = ()
    endpoint: Annotated[
        str | None, Field("Where it is served: `http://<name>.<namespace>.svc:<port>`.", Limits(max_size=512))
    ] = None
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            "`WeightsReady`: whether every engine role's weights are there. `ReplicasUpToDate`: whether every replica "
            "is of the current spec.",
            Limits(max_size=16),
            keys=("type",),
        ),
    ] = ()


class ModelDeployment(Resource):
    """An inference engine's roles around one model: rendered, placed, and started once the weights are there."""

    KIND: ClassVar[Kind] = Kind(
        "worker.gpustack.ai",
        "ModelDeployment",
        "modeldeployments",
        "md",
        columns=(
            Column("Phase", "string", ".status.phase"),
            Column("Ready", "string", ".status.ready"),
            Column("Weights", "string", '.status.conditions[?(@.type=="WeightsReady")].reason'),
            Column("Artifact", "string", ".spec.model.artifactRef.name", wide=True),
            Column("Delivery", "string", ".status.model.delivery", wide=True),
            Column("Message", "string", ".status.phaseMessage", wide=True),
            AGE,
        ),
    )

    spec: Annotated[ModelDeploymentSpec, Field("What is to run.")]
    status: Annotated[ModelDeploymentStatus, Field("How it stands.")] = ModelDeploymentStatus()
