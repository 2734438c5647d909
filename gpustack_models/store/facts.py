"""Owns what a store is at one moment, as plain values: the snapshot that plans, listings and the status come from.

Refuses I/O and decisions.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpustack_models.core.manifest import FileDigest
from gpustack_models.store.capacity import Usage


@dataclass(frozen=True, slots=True)
class TreeFact:
    """A folder in `trees/`: its files, their size and number, seconds since its last use, and what holds it.

    `valid` is False when its manifest does not hash to its name; then its files are not known.
    """

    digest: str
    files: frozenset[FileDigest]
    size: int
    idle: float
    references: int = 0
    pinned: bool = False
    running: bool = False
    valid: bool = True
    count: int = 0


@dataclass(frozen=True, slots=True)
class BlobFact:
    """One inode among the blobs: its names, and the bytes it takes on disk."""

    names: tuple[FileDigest, ...]
    allocated: int


@dataclass(frozen=True, slots=True)
class PendingFact:
    """A digest that was asked for and is not published: its files, seconds since somebody asked."""

    digest: str
    files: frozenset[FileDigest]
    idle: float
    running: bool = False


@dataclass(frozen=True, slots=True)
class PartialFact:
    """A file in `partial/`: the digest it will have (None: not known), the bytes it takes, seconds since it grew."""

    name: str
    file: FileDigest | None
    allocated: int
    idle: float


@dataclass(frozen=True, slots=True)
class FailureFact:
    """A failure record, and seconds since that failure."""

    digest: str
    idle: float


@dataclass(frozen=True, slots=True)
class WithdrawnFact:
    """A broken tree in `trash/`, kept while its digest is referenced: the bytes that only it takes."""

    name: str
    allocated: int
    references: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The store at one moment."""

    usage: Usage
    trees: tuple[TreeFact, ...] = ()
    blobs: tuple[BlobFact, ...] = ()
    pending: tuple[PendingFact, ...] = ()
    partials: tuple[PartialFact, ...] = ()
    failures: tuple[FailureFact, ...] = ()
    withdrawn: tuple[WithdrawnFact, ...] = ()
    #: Changes with everything that could turn a removal wrong.
    generation: int = 0

    @property
    def stored(self) -> int:
        """Bytes that the verified files take; a blob that many trees share counts once."""
        return sum(blob.allocated for blob in self.blobs)
