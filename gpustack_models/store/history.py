"""Owns the history of a store: one line per event, bounded in size, oldest first.

Refuses to stop what it tells of: an event that cannot be written is lost, the work is not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import plainjson
from gpustack_models.store.handles import FILE_MODE, Dir, write_all

NAME = "history"
PREVIOUS = "history.1"
#: Two files of this size at most are kept: some thousands of events.
MAX_BYTES = 512 << 10
_HEADER = {"format": 1, "kind": "history"}
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Event:
    """What happened: a wall-clock time, an event's name, the digest it is about, and its particulars."""

    time: float
    event: str
    digest: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def append(ledger: Dir, event: Event) -> None:
    """Write one event. Messages must carry no credential; that is their maker's duty."""
    line = json.dumps({"time": event.time, "event": event.event, "digest": event.digest, **event.details})
    with suppress(OSError):
        fd = os.open(NAME, _APPEND, FILE_MODE, dir_fd=ledger.fd)
        try:
            size = os.fstat(fd).st_size
            begin = "" if size else json.dumps(_HEADER) + "\n"
            if size and os.pread(fd, 1, size - 1) != b"\n":
                begin = "\n"  # a line that a crash tore must not swallow this one
            write_all(fd, f"{begin}{line}\n".encode())
            full = size > MAX_BYTES
        finally:
            os.close(fd)
        if full:
            ledger.rename(NAME, ledger, PREVIOUS)


def read(ledger: Dir) -> list[Event]:
    """Every event kept, oldest first; a torn line is left out. Raises GsmError(UnknownFormat, StorageFailed)."""
    return [event for name in (PREVIOUS, NAME) for event in _events(ledger, name)]


def _events(ledger: Dir, name: str) -> list[Event]:
    try:
        lines = ledger.read(name, 2 * MAX_BYTES).splitlines()
    except FileNotFoundError:
        return []
    values = [_value(line) for line in lines]
    # A crash may have torn the first line too; one that can be read has to be ours.
    if lines and values[0] not in (_HEADER, None):
        raise GsmError(
            Reason.UNKNOWN_FORMAT,
            f"{ledger.join(name)} has a format that this version does not know",
            hint="move it away to begin a new history",
        )
    return [event for value in values[1:] if (event := _event(value))]


def _value(line: bytes) -> Any:
    try:
        return plainjson.parse(line)
    except ValueError:
        return None


def _event(value: Any) -> Event | None:
    match value:
        case {"time": time, "event": str() as event, "digest": str() as digest, **details}:
            with suppress(ValueError):
                return Event(plainjson.moment(time), event, digest, {str(name): each for name, each in details.items()})
    return None
