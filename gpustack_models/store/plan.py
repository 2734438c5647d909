"""Owns the decision of a collection: from a frozen snapshot to what is removed, why, and how many bytes that frees.

Refuses I/O, and to plan the removal of anything referenced, pinned, under way or used in the last ten minutes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from gpustack_models.core.manifest import FileDigest
from gpustack_models.store.capacity import Usage
from gpustack_models.store.facts import BlobFact, PendingFact, Snapshot, TreeFact

#: node-store.md, "Collection".
UNREFERENCED_SECONDS = 10 * 60
PARTIAL_SECONDS = 24 * 60 * 60
FAILURE_SECONDS = 24 * 60 * 60


class Kind(StrEnum):
    """What a removal takes away."""

    TREE = "tree"
    PARTIAL = "partial"
    BLOB = "blob"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that goes: what it is, its name, why, the bytes it frees, the blobs and partial files that go along."""

    kind: Kind
    name: str
    why: str
    bytes: int = 0
    blobs: tuple[FileDigest, ...] = ()
    partials: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """How many trees stay although they were looked at, by what keeps them."""

    referenced: int = 0
    pinned: int = 0
    running: int = 0
    recent: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a collection does, in this order. `wanted` is what it should free, in bytes."""

    usage: Usage
    wanted: int
    removals: tuple[Removal, ...]
    kept: Kept
    generation: int = 0

    @property
    def frees(self) -> int:
        """Bytes that executing it frees."""
        return sum(removal.bytes for removal in self.removals)

    @property
    def enough(self) -> bool:
        """Whether it frees what was wanted."""
        return self.frees >= self.wanted


def plan(snapshot: Snapshot, wanted: int, *, garbage: bool = True) -> Plan:
    """The collection that frees `wanted` bytes, least recently used trees first.

    What nobody can use any more goes whatever is wanted (`garbage`): stale partials, blobs no tree links to, expired
    failure records, folders in `trees/` that are no trees.
    """
    pool = _Pool(snapshot)
    removals = list(_garbage(snapshot, pool)) if garbage else []
    freed = sum(removal.bytes for removal in removals)
    for tree in sorted(_candidates(snapshot), key=lambda tree: (-tree.idle, tree.digest)):
        if freed >= wanted:
            break
        removal = _tree(tree, pool, f"unreferenced, last used {_ago(tree.idle)}")
        removals.append(removal)
        freed += removal.bytes
    return Plan(snapshot.usage, wanted, tuple(removals), _kept(snapshot), snapshot.generation)


def removal_of(snapshot: Snapshot, digest: str) -> Plan:
    """The plan that removes one digest at a person's word: its tree, its partial files, its failure record."""
    pool = _Pool(snapshot)
    removals = [_tree(tree, pool, "removed by name") for tree in snapshot.trees if tree.digest == digest]
    removals += [
        _pending(pending, snapshot, pool, "removed by name")
        for pending in snapshot.pending
        if pending.digest == digest and not pending.running
    ]
    removals += [
        Removal(Kind.FAILURE, failure.digest, "removed by name")
        for failure in snapshot.failures
        if failure.digest == digest
    ]
    return Plan(snapshot.usage, 0, tuple(removals), Kept(), snapshot.generation)


def restricted(allowed: Plan, fresh: Plan) -> Plan:
    """What of an allowed plan a fresh one still does: nothing beyond what was shown, nothing that became wrong."""
    now = {(removal.kind, removal.name): removal for removal in fresh.removals}
    removals = []
    for removal in allowed.removals:
        if again := now.get((removal.kind, removal.name)):
            blobs = tuple(blob for blob in removal.blobs if blob in again.blobs)
            partials = tuple(name for name in removal.partials if name in again.partials)
            removals.append(
                Removal(removal.kind, removal.name, removal.why, min(removal.bytes, again.bytes), blobs, partials)
            )
    return Plan(fresh.usage, allowed.wanted, tuple(removals), fresh.kept, fresh.generation)


class _Pool:
    """Which blobs something still needs, while one after the other of what needs them goes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._inodes: dict[FileDigest, BlobFact] = {name: blob for blob in snapshot.blobs for name in blob.names}
        self._users: dict[BlobFact, int] = dict.fromkeys(snapshot.blobs, 0)
        for files in (*(tree.files for tree in snapshot.trees), *(pending.files for pending in snapshot.pending)):
            for blob in self._of(files):
                self._users[blob] += 1

    def unused(self) -> list[BlobFact]:
        return [blob for blob, users in self._users.items() if not users]

    def release(self, files: Iterable[FileDigest]) -> list[BlobFact]:
        """Count one user less; the blobs that nothing needs now."""
        freed = []
        for blob in self._of(files):
            self._users[blob] -= 1
            if not self._users[blob]:
                del self._users[blob]
                freed.append(blob)
        return freed

    def drop(self, blob: BlobFact) -> None:
        del self._users[blob]

    def _of(self, files: Iterable[FileDigest]) -> list[BlobFact]:
        # Two names of one file are one blob.
        blobs = {self._inodes[file] for file in files if file in self._inodes}
        return [blob for blob in blobs if blob in self._users]


def _garbage(snapshot: Snapshot, pool: _Pool) -> Iterable[Removal]:
    for blob in sorted(pool.unused(), key=lambda blob: blob.names):
        pool.drop(blob)
        yield Removal(Kind.BLOB, str(blob.names[0]), "no tree links to it", blob.allocated, blob.names)
    for tree in snapshot.trees:
        if not tree.valid and not tree.references:
            yield _tree(tree, pool, "its manifest does not hash to its name")
    for withdrawn in snapshot.withdrawn:
        if not withdrawn.references:
            yield Removal(Kind.TREE, withdrawn.name, "broken, and no longer referenced", withdrawn.allocated)
    for pending in snapshot.pending:
        if not pending.running and pending.idle >= PARTIAL_SECONDS:
            yield _pending(pending, snapshot, pool, f"unfinished, last asked for {_ago(pending.idle)}")
    wanted = frozenset[FileDigest]().union(*(pending.files for pending in snapshot.pending))
    for partial in snapshot.partials:
        if partial.file not in wanted and partial.idle >= PARTIAL_SECONDS:
            why = f"unfinished, and nothing asks for it; last written {_ago(partial.idle)}"
            yield Removal(Kind.PARTIAL, partial.name, why, partial.allocated, partials=(partial.name,))
    yield from _failures(snapshot)


def _failures(snapshot: Snapshot) -> Iterable[Removal]:
    known = {tree.digest for tree in snapshot.trees} | {pending.digest for pending in snapshot.pending}
    for failure in snapshot.failures:
        if failure.idle >= FAILURE_SECONDS and failure.digest not in known:
            yield Removal(Kind.FAILURE, failure.digest, f"last failed {_ago(failure.idle)}")


def _candidates(snapshot: Snapshot) -> Iterable[TreeFact]:
    for tree in snapshot.trees:
        if tree.valid and not _holds(tree):
            yield tree


def _holds(tree: TreeFact) -> str:
    """Why a tree stays, or an empty string."""
    if tree.references:
        return "referenced"
    if tree.pinned:
        return "pinned"
    if tree.running:
        return "running"
    return "recent" if tree.idle < UNREFERENCED_SECONDS else ""


def _kept(snapshot: Snapshot) -> Kept:
    holds = [_holds(tree) for tree in snapshot.trees]
    return Kept(*(holds.count(name) for name in ("referenced", "pinned", "running", "recent")))


def _tree(tree: TreeFact, pool: _Pool, why: str) -> Removal:
    freed = pool.release(tree.files)
    blobs = tuple(sorted(name for blob in freed for name in blob.names))
    return Removal(Kind.TREE, tree.digest, why, sum(blob.allocated for blob in freed), blobs)


def _pending(pending: PendingFact, snapshot: Snapshot, pool: _Pool, why: str) -> Removal:
    freed = pool.release(pending.files)
    others = frozenset[FileDigest]().union(
        *(other.files for other in snapshot.pending if other.digest != pending.digest and other.idle < PARTIAL_SECONDS)
    )
    partials = [
        partial for partial in snapshot.partials if partial.file in pending.files and partial.file not in others
    ]
    return Removal(
        Kind.PARTIAL,
        pending.digest,
        why,
        sum(blob.allocated for blob in freed) + sum(partial.allocated for partial in partials),
        tuple(sorted(name for blob in freed for name in blob.names)),
        tuple(partial.name for partial in partials),
    )


def _ago(seconds: float) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if (count := int(seconds // length)) >= 1:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
