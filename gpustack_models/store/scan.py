"""Owns looking at a whole store at one moment: the frozen snapshot that a plan, a listing and the status come from.

Refuses to change anything, and to go on when references or pins cannot be read.
"""

from __future__ import annotations

import stat
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gpustack_models.core.manifest import FileDigest, Manifest
from gpustack_models.errors import GsmError
from gpustack_models.store.blobs import BlobFile
from gpustack_models.store.clock import Instant, age
from gpustack_models.store.facts import (
    BlobFact,
    FailureFact,
    PartialFact,
    PendingFact,
    Snapshot,
    TreeFact,
    WithdrawnFact,
)
from gpustack_models.store.handles import Dir, storing
from gpustack_models.store.layout import MANIFEST, WITHDRAWN, digest_of, tree_name
from gpustack_models.store.pending import file_of, pending_digest
from gpustack_models.store.records import Asked, Failure, Pin, Reference, Use
from gpustack_models.store.store import Store

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Files:
    """What a tree's manifest names, as long as that file is the same on disk."""

    inode: int
    changed: int
    files: frozenset[FileDigest]
    size: int
    count: int
    valid: bool


class Scanner:
    """Takes snapshots of a store; what did not change since the last one is not read again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[str, _Files] = {}

    def snapshot(
        self,
        running: Mapping[str, Manifest | None] = _NOTHING,
        uses: Mapping[str, Instant] = _NOTHING,
        generation: int = 0,
    ) -> Snapshot:
        """The store now; `running` are the digests that attempts run on, `uses` what the ledger may not have yet.

        Raises GsmError(UnknownFormat, StorageFailed) when the ledger cannot be read: then nothing may be removed.
        """
        store, now = self._store, self._store.clock.now()
        with storing("the store cannot be looked at"):
            # References last: one that comes while we look is seen, and one that goes only keeps a tree a while longer.
            blobs = tuple(_inodes(store.blobs.all()))
            failures = tuple(FailureFact(each.digest, age(each.at, now)) for each in store.ledger.all(Failure))
            partials = tuple(_partials(store.root.partial, now))
            trees = self.trees(running, uses)
            pending = tuple(self._pending(now, running, {tree.digest for tree in trees if tree.valid}))
            references = Counter(reference.digest for reference in store.ledger.all(Reference))
            withdrawn = tuple(_withdrawn(store.root.trash, references))
        return Snapshot(store.usage(), trees, blobs, pending, partials, failures, withdrawn, generation)

    def trees(
        self, running: Mapping[str, Manifest | None] = _NOTHING, uses: Mapping[str, Instant] = _NOTHING
    ) -> tuple[TreeFact, ...]:
        """What is in `trees/`, by digest. Raises OSError, GsmError as `snapshot` does."""
        store = self._store
        found = self._trees(store.clock.now(), uses)
        pins = {pin.digest for pin in store.ledger.all(Pin)}
        references = Counter(reference.digest for reference in store.ledger.all(Reference))
        return tuple(
            TreeFact(
                digest=digest,
                files=files.files,
                size=files.size,
                idle=idle,
                references=references[digest],
                pinned=digest in pins,
                running=digest in running,
                valid=files.valid,
                count=files.count,
            )
            for digest, files, idle in found
        )

    def _trees(self, now: Instant, uses: Mapping[str, Instant]) -> list[tuple[str, _Files, float]]:
        found = []
        seen = {}
        for digest in self._store.trees.digests():
            known = self._known(digest)
            if known is None:
                continue
            files, changed = known
            seen[digest] = files
            use = self._store.ledger.get(Use, digest)
            # Without a record of its use a tree is as old as its manifest.
            idle = age(use.last if use else Instant(changed), now)
            found.append((digest, files, min(idle, age(uses[digest], now)) if digest in uses else idle))
        self._seen = seen
        return found

    def _known(self, digest: str) -> tuple[_Files, float] | None:
        store = self._store
        try:
            with store.root.trees.sub(tree_name(digest)) as folder:
                manifest = folder.stat(MANIFEST)
        except FileNotFoundError:
            return None  # removed while we looked
        if manifest is None:
            return _Files(0, 0, frozenset(), 0, 0, valid=False), 0.0
        last = self._seen.get(digest)
        if last and (last.inode, last.changed) == (manifest.st_ino, manifest.st_ctime_ns):
            return last, manifest.st_mtime
        files, size, count, valid = frozenset[FileDigest](), 0, 0, False
        with suppress(GsmError):
            if tree := store.trees.lookup(digest):
                files = _files(tree.manifest)
                size, count, valid = tree.manifest.size, tree.manifest.file_count, True
        return _Files(manifest.st_ino, manifest.st_ctime_ns, files, size, count, valid), manifest.st_mtime

    def _pending(
        self, now: Instant, running: Mapping[str, Manifest | None], published: set[str]
    ) -> Iterator[PendingFact]:
        for digest, manifest in running.items():
            if manifest:
                yield PendingFact(digest, _files(manifest), 0.0, running=True)
        for manifest in self._store.pending.all():
            digest = manifest.digest
            if digest not in published and not running.get(digest):
                asked = self._store.ledger.get(Asked, digest)
                idle = age(asked.last, now) if asked else 0.0
                yield PendingFact(digest, _files(manifest), idle, digest in running)


def _files(manifest: Manifest) -> frozenset[FileDigest]:
    return frozenset(entry.digest for entry in manifest.entries)


def _inodes(files: Iterator[BlobFile]) -> Iterator[BlobFact]:
    names: dict[int, list[FileDigest]] = defaultdict(list)
    allocated = {}
    for file in files:
        names[file.inode].append(file.digest)
        allocated[file.inode] = file.allocated
    for inode, digests in names.items():
        yield BlobFact(tuple(sorted(digests)), allocated[inode])


def _partials(partial: Dir, now: Instant) -> Iterator[PartialFact]:
    for name in sorted(partial.names()):
        if pending_digest(name) or not (found := partial.stat(name)):
            continue
        yield PartialFact(name, file_of(name), found.st_blocks * 512, age(Instant(found.st_mtime), now))


def _withdrawn(trash: Dir, references: Counter[str]) -> Iterator[WithdrawnFact]:
    for name in sorted(trash.names()):
        if digest := withdrawn_digest(name):
            yield WithdrawnFact(name, _only_here(trash, name), references[digest])


def withdrawn_digest(name: str) -> str | None:
    """The digest of a broken tree in `trash/`, or None for anything else there."""
    return digest_of(name.partition(".")[0]) if WITHDRAWN in name else None


def _only_here(parent: Dir, name: str) -> int:
    """Bytes of the files below that have no other name."""
    found = parent.stat(name)
    if found is None:
        return 0
    if not stat.S_ISDIR(found.st_mode):
        return found.st_blocks * 512 if found.st_nlink == 1 else 0
    with suppress(FileNotFoundError), parent.sub(name) as folder:
        return sum(_only_here(folder, inner) for inner in folder.names())
    return 0
