"""Owns the ledger's records as values and as bytes: references, pins, uses, failures, attempts; each with its format.

Refuses an unknown format and a record that is not exactly of its kind; does no I/O.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import plainjson
from gpustack_models.store.clock import Instant

FORMAT = 1
MAX_RECORD = 64 << 10
MAX_NAMES = 16


@dataclass(frozen=True, slots=True)
class Reference:
    """A consumer of a published tree: a volume at a target path (node-store.md, "The CSI driver")."""

    KIND: ClassVar[str] = "reference"

    volume: str
    target: str
    digest: str
    since: Instant


@dataclass(frozen=True, slots=True)
class Pin:
    """A digest that no collection removes, and why, in the words of whoever pinned it."""

    KIND: ClassVar[str] = "pin"

    digest: str
    since: Instant
    note: str = ""


@dataclass(frozen=True, slots=True)
class Use:
    """When a digest was last asked for, mounted or released; when published, from what; what people called it."""

    KIND: ClassVar[str] = "use"

    digest: str
    last: Instant
    published: Instant
    source: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """How the last attempt at a digest failed, and how often in a row (node-store.md, "Backoff")."""

    KIND: ClassVar[str] = "failure"

    digest: str
    count: int
    reason: Reason
    message: str
    at: Instant


@dataclass(frozen=True, slots=True)
class Asked:
    """The newest attempt's number for a digest, and when somebody last asked for it."""

    KIND: ClassVar[str] = "attempt"

    digest: str
    number: int
    last: Instant


Record = Reference | Pin | Use | Failure | Asked
AnyRecord = TypeVar("AnyRecord", Reference, Pin, Use, Failure, Asked)


def encode(record: Record) -> bytes:
    """A record as it lies on disk: one JSON object with its format and kind."""
    body = {field.name: _plain(getattr(record, field.name)) for field in fields(record)}
    return (json.dumps({"format": FORMAT, "kind": record.KIND, **body}, sort_keys=True) + "\n").encode()


def decode(data: bytes, kind: type[AnyRecord], name: str) -> AnyRecord:
    """Read one record; `name` is what an error calls it.

    Raises GsmError(UnknownFormat) for another format, StorageFailed for anything that is no record of this kind.
    """
    try:
        value = plainjson.parse(data)
    except ValueError as error:
        raise _broken(name, "it is not JSON") from error
    if not isinstance(value, dict) or "format" not in value:
        raise _broken(name, "it has no format")
    if value.pop("format") != FORMAT:
        raise GsmError(
            Reason.UNKNOWN_FORMAT,
            f"{name} has a format that this version does not know",
            hint="use the version of gsm that wrote it",
        )
    if value.pop("kind", None) != kind.KIND:
        raise _broken(name, f"it is not a {kind.KIND}")
    wanted = {field.name: str(field.type) for field in fields(kind)}
    if set(value) != set(wanted):
        raise _broken(name, "its fields are not those of its format")
    try:
        return kind(**{field: _typed(value[field], type_name) for field, type_name in wanted.items()})
    except ValueError as error:
        raise _broken(name, str(error)) from error


def _plain(value: Any) -> Any:
    if isinstance(value, Instant):
        return {"wall": value.wall, "boot": value.boot, "uptime": value.uptime}
    return list(value) if isinstance(value, tuple) else value


def _typed(value: Any, type_name: str) -> Any:
    match type_name, value:
        case ("Instant", _):
            return plainjson.instant(value)
        case ("Reason", str()):
            return Reason(value)
        case ("str", str()):
            return value
        case ("int", int()) if value >= 0 and not isinstance(value, bool):
            return value
        case ("tuple[str, ...]", list()) if all(isinstance(each, str) for each in value):
            return tuple(value)
    raise ValueError(f"{value!r:.80} is not a {type_name}")


def _broken(name: str, why: str) -> GsmError:
    return GsmError(
        Reason.STORAGE_FAILED,
        f"{name} cannot be read: {why}",
        hint="nothing is removed while the ledger cannot be read; move the file away when you know what it was",
    )
