"""Owns what every resource shares: the base of its records, its metadata, its conditions, how a field is documented.

Refuses to judge a value: a record is read as it is stored, its limits are data that `core.structure` judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import pydantic
from pydantic import (
    BaseModel,
    ConfigDict,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from gpustack_models.errors import GsmError, Reason

#: A Kubernetes object, or a part of one, as it crosses the wire.
JsonObject = dict[str, Any]

#: Where kubectl puts an object that does not say its namespace.
DEFAULT_NAMESPACE = "default"

_ALIASES = {
    "downward_api": "downwardAPI",
    "scale_io": "scaleIO",
    "certificate_sha256": "certificateSHA256",
    "image_gc_high_threshold_percent": "imageGCHighThresholdPercent",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a value may be. Sizes are characters, items or members; `rule` names the row of `core.rules` it carries."""

    min_size: int | None = None
    max_size: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    one_of: tuple[str, ...] | None = None
    pattern: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """What a field is: its documentation, its own limits, its items', and how its list merges and is compared.

    `keys` make a list a map of Kubernetes (`listType: map`), `unique` makes it a set, `atomic` keeps it whole.
    `duplicate_rule` names the row of a second item with one key.
    """

    doc: str
    limits: Limits = Limits()
    items: Limits = Limits()
    keys: tuple[str, ...] = ()
    unique: bool = False
    atomic: bool = False
    duplicate_rule: str = ""
    format: str = ""


class Record(BaseModel):
    """A part of an object: frozen, camelCase on the wire, unknown members kept for the way back."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        populate_by_name=True,
        alias_generator=lambda name: _ALIASES.get(name) or to_camel(name),
    )
    #: False where the API server keeps members that the model does not name (a Kubernetes core type).
    CLOSED: ClassVar[bool] = True

    @model_validator(mode="before")
    @classmethod
    def _absent_is_null(cls, value: Any) -> Any:
        # The API server drops a null member; so `env:` with nothing behind it means that there is no such member.
        if isinstance(value, dict) and None in value.values():
            return {name: member for name, member in value.items() if member is not None}
        return value

    def to_object(self) -> JsonObject:
        """The record as it crosses the wire: what was read or set, unknown members included, defaults left out."""
        return self.model_dump(by_alias=True, exclude_unset=True, mode="json")


def empty_map() -> Any:
    """The default of a field that is a map."""
    return pydantic.Field(default_factory=dict)


class LocalReference(Record):
    """A reference to an object of the same namespace."""

    name: Annotated[str, Field("Name of the object, in this namespace.", Limits(min_size=1, max_size=253))]


class ObjectMeta(Record):
    """What every Kubernetes object carries."""

    CLOSED = False

    name: Annotated[str, Field("Name, unique in its namespace.")] = ""
    namespace: Annotated[str, Field("Namespace.")] = ""
    uid: Annotated[str, Field("Identity given by the API server.")] = ""
    generation: Annotated[int, Field("Number of the spec's version.")] = 0
    resource_version: Annotated[str, Field("Version of the whole object, for optimistic locking.")] = ""
    creation_timestamp: Annotated[str, Field("When it was created.")] = ""
    deletion_timestamp: Annotated[str | None, Field("When its deletion was asked for.")] = None
    labels: Annotated[dict[str, str], Field("Labels.")] = empty_map()
    annotations: Annotated[dict[str, str], Field("Annotations.")] = empty_map()
    finalizers: Annotated[tuple[str, ...], Field("What must happen before it goes.")] = ()
    owner_references: Annotated[tuple[JsonObject, ...], Field("Owners, in whose deletion it goes.")] = ()


class Condition(Record):
    """One aspect of an object's state, as Kubernetes writes them (metav1.Condition)."""

    type: Annotated[str, Field("What it is about.", Limits(min_size=1, max_size=316))]
    status: Annotated[str, Field("Whether it holds.", Limits(one_of=("True", "False", "Unknown")))]
    reason: Annotated[str, Field("Why, as one word of an enumeration.", Limits(min_size=1, max_size=1024))]
    message: Annotated[str, Field("Why, for a person.", Limits(max_size=32768))] = ""
    observed_generation: Annotated[int, Field("The generation it was judged on.", Limits(minimum=0))] = 0
    last_transition_time: Annotated[str, Field("When `status` last changed.", format="date-time")] = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`: title, type in the CRD, where it is read, whether only `-o wide` shows it."""

    name: str
    type: str
    path: str
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """The names of a resource, as its CRD carries them."""

    group: str
    kind: str
    plural: str
    short_name: str
    namespaced: bool = True
    version: str = "v1"
    has_status: bool = True
    columns: tuple[Column, ...] = ()

    @property
    def api_version(self) -> str:
        """`group/version`."""
        return f"{self.group}/{self.version}"

    @property
    def singular(self) -> str:
        """The kind in lower case."""
        return self.kind.lower()

    @property
    def crd_name(self) -> str:
        """The name of its CustomResourceDefinition."""
        return f"{self.plural}.{self.group}"


AGE = Column("Age", "date", ".metadata.creationTimestamp")


class Resource(Record):
    """A whole object of one of the five kinds."""

    KIND: ClassVar[Kind]

    api_version: Annotated[str, Field("Group and version.")]
    kind: Annotated[str, Field("Kind.")]
    metadata: Annotated[ObjectMeta, Field("Standard metadata.")] = ObjectMeta()

    @classmethod
    def parse(cls, value: JsonObject) -> Self:
        """Read an object. Raises GsmError(InvalidInput) that names it and its first unreadable field."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            metadata = value.get("metadata")
            named = metadata if isinstance(metadata, dict) else {}
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            path = ".".join(str(part) for part in first["loc"])
            raise GsmError(
                Reason.INVALID_INPUT, f"{cls.KIND.kind} {named.get('name', '')!r}: {path}: {first['msg']}"
            ) from error

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """`metadata.namespace`, empty when it is not written or the kind has none."""
        return self.metadata.namespace

    def __str__(self) -> str:
        return f"{self.KIND.kind} {'/'.join(part for part in (self.namespace, self.name) if part)}"


def condition(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """The condition of a type, or None."""
    return next((each for each in conditions if each.type == kind), None)


#: A scalar that YAML may write as a number or a text, such as a quantity.
IntOrString = StrictInt | StrictStr
