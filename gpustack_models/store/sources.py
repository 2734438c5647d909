"""Owns what the store is told of the outside: the files wanted, where their bytes may come from, the limits.

Refuses to know what a hub or a peer is beyond a name and a location of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from gpustack_models.core.location import Location
from gpustack_models.core.manifest import FileDigest
from gpustack_models.errors import GsmError


class Origin(StrEnum):
    """What a tree's bytes mostly came from (node-store.md, "An attempt")."""

    HUB = "Hub"
    PEER = "Peer"


class Source(Protocol):
    """One place that serves the files of a manifest. Sources are tried in order; each has a failure budget."""

    origin: Origin

    def locate(self, path: str) -> Location:
        """Where the bytes of a manifest's path are; sends no request."""
        ...


@dataclass(frozen=True, slots=True)
class Want:
    """One file to fetch: its digest, its size in bytes, the manifest's path by which a source knows it."""

    digest: FileDigest
    size: int
    path: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The node's download limits: requests at once over all attempts, bytes per second over all (0 is unlimited)."""

    concurrency: int = 8
    bytes_per_second: int = 0
    stall_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """One want, verified, as a file in `partial/`: every digest known of its content, the wanted one among them.

    When not `synced`, the bytes are not durable yet: whoever gives the file a lasting name syncs it before.
    """

    want: Want
    path: Path
    digests: tuple[FileDigest, ...]
    origin: Origin
    synced: bool


@dataclass(frozen=True, slots=True)
class SourceFailure:
    """Why a source was given up: its place among the sources, what it is, and its last error, fit to be shown."""

    index: int
    origin: Origin
    error: GsmError


@dataclass(frozen=True, slots=True)
class TransferReport:
    """What a transfer did: bytes received by origin, bytes kept of an earlier attempt, the sources given up."""

    received: Mapping[Origin, int]
    kept: int
    failures: tuple[SourceFailure, ...]


#: Called with the bytes verified so far of one want and what they came from, from one thread at a time; the bytes of a
#: want never go back.
TransferProgress = Callable[[Want, int, Origin], None]
