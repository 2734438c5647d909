"""Owns the shape of a rule: one row, where it is enforced, what it is judged on, and the refusal that it gives.

Refuses rules themselves; each resource's stand in its own module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, TypeVar

from gpustack_models.core import paths
from gpustack_models.core.paths import Path
from gpustack_models.core.resource import JsonObject, Resource

R = TypeVar("R", bound=Resource)


class Where(StrEnum):
    """Where a rule is enforced. A laptop judges all of them (workloads.md, "Where a rule is enforced")."""

    READING = "reading"
    SCHEMA = "schema"
    CEL = "CEL"
    WEBHOOK = "webhook"
    BOTH = "both"


class Operation(StrEnum):
    """What is being done to an object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks: the user, and what the authenticator says beside it (authentication.k8s.io UserInfo)."""

    username: str
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the cluster. None is not known: a rule that needs it is then not judged.

    `kubernetes_version` as the API server prints it, empty when it could not be read; `csi_driver` whether the
    CSIDriver exists; `settings` the values in force, by name; `operator` and `plugin` the two programs' user names;
    `pod_nodes` the node of the Pod that a token is bound to, by namespace and UID, where the token does not say it.
    """

    kubernetes_version: str | None = None
    csi_driver: bool | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    namespace: str | None = None
    operator: str | None = None
    plugin: str | None = None
    pod_nodes: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Case(Generic[R]):
    """One judgement: the object (its defaults applied), what it was, what is done, by whom, and the cluster's facts.

    `subresource` is `status` when that is what is written. On a deletion `value` is the object that goes.
    """

    kind: type[R]
    value: JsonObject
    old_value: JsonObject | None = None
    operation: Operation = Operation.CREATE
    subresource: str = ""
    requester: Requester | None = None
    facts: Facts = Facts()

    @cached_property
    def new(self) -> R:
        """The object, typed."""
        return self.kind.parse(self.value)

    @cached_property
    def old(self) -> R | None:
        """What it was, typed."""
        return self.kind.parse(self.old_value) if self.old_value is not None else None


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule found: the field, why it is refused, the next step, and the row's id where one check serves many."""

    path: Path
    message: str
    hint: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Cel:
    """One CEL rule and its twin: the expression, and the same judged in Python.

    `at` is the schema's path that it stands at (`[]` for each item). `holds` gets the value there, and for a transition
    rule also the old one. `member` is the field below `at` that a refusal names; `locate` finds it closer than CEL can.
    """

    at: tuple[str, ...]
    expression: str
    holds: Callable[..., bool]
    message: str
    member: tuple[str, ...] = ()
    transition: bool = False
    locate: Callable[[Any], Path] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One admission rule. `says` is the rule in words; `source` is its page of the specification, or this project.

    A webhook's rule has a `check`; `scope` is what it looks at: unchanged there, a stored object takes other edits.
    """

    id: str
    kind: str
    looks_at: str
    says: str
    where: Where
    source: str
    cel: tuple[Cel, ...] = ()
    check: Callable[[Case[Any]], Iterable[Problem]] | None = None
    scope: tuple[str, ...] = ()
    operations: frozenset[Operation] = frozenset({Operation.CREATE, Operation.UPDATE})
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Violation:
    """One refusal of one object: the row, the field, the words, the next step.

    `blocking` ones (a wrong type, a missing field) leave rules that look there unjudged. `scope` is what an update must
    have changed for it to be refused, when that is not the field alone.
    """

    rule: str
    path: Path
    message: str
    hint: str = ""
    blocking: bool = False
    scope: Path | None = None

    def __str__(self) -> str:
        """The refusal in one line, as a webhook answers it."""
        field = paths.text(self.path)
        words = f"{self.message}; {self.hint}" if self.hint else self.message
        return f"{field}: {words}" if field else words
