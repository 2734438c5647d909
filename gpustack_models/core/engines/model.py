"""Owns the shape of an engine's table: owned flags and variables, probes, the line, the KV connector.

Refuses rows without a reason: each says what owns it, why, and whether the specification or this project put it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpustack_models.core.deployment import Manufacturer, RoleKind
from gpustack_models.core.engines.flags import Syntax

ARTIFACT = "spec.model.artifactRef"
KV_CACHE = "spec.kvCache"
MODEL_NAME = "spec.model.name"


@dataclass(frozen=True, slots=True)
class OwnedFlag:
    """One row: an option that the operator owns while `owner` is set, on managed roles.

    `spellings` are its names, the canonical one first; one that ends in `-` stands for every option that begins so.
    `values`, when given, are the only values refused. `by_specification` is False for this project's own addition.
    """

    id: str
    spellings: tuple[str, ...]
    owner: str
    why: str
    by_specification: bool = True
    values: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OwnedVariable:
    """One row: an environment variable that the operator owns while an artifact is referenced, on managed roles."""

    name: str
    why: str
    by_specification: bool = True

    @property
    def id(self) -> str:
        """The rule's id: `env-` and the name in kebab case."""
        return "env-" + self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class Probe:
    """One HTTP probe's numbers, in seconds."""

    period: int
    timeout: int
    failures: int


@dataclass(frozen=True, slots=True)
class Probes:
    """The three probes of a managed role, all on one path (workloads.md: the engine's `GET /health`)."""

    path: str
    startup: Probe
    readiness: Probe
    liveness: Probe


@dataclass(frozen=True, slots=True)
class KvCache:
    """What a KV connector's arguments are made from: the role's kind, the connector's own keys, the weight identity.

    `identity` is empty without an artifact: then no prefix is rendered.
    """

    kind: RoleKind
    config: Mapping[str, object]
    identity: str
    manufacturer: Manufacturer = Manufacturer.ANY


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine's table (engines.md, workloads.md "The engine's line")."""

    name: str
    id: str
    command: tuple[str, ...]
    model_option: tuple[str, ...]
    syntax: Syntax
    flags: tuple[OwnedFlag, ...]
    variables: tuple[OwnedVariable, ...]
    modelscope_switch: str
    probes: Probes
    kv_arguments: Callable[[KvCache], tuple[str, ...]]
    many_names: bool = False
    forbidden_in_name: Mapping[str, str] = field(default_factory=dict)


#: A cold load may take hours (a download under Engine delivery, a first read from object storage): the start is bounded
#: by four hours, and after it the other two probes judge alone.
HEALTH = Probes(
    path="/health",
    startup=Probe(period=10, timeout=5, failures=1440),
    readiness=Probe(period=5, timeout=5, failures=3),
    liveness=Probe(period=10, timeout=10, failures=6),
)

#: The served name, the address and the port: the operator renders them unless the role states them itself.
SERVED_MODEL_NAME = "--served-model-name"
HOST = "--host"
PORT = "--port"
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - what the operator renders: a Pod's own network namespace
