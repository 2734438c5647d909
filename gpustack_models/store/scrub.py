"""Owns re-hashing what is published: every inode once, at the speed of the disk and the cores; what is wrong is named.

Refuses to change anything; `mending` does.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from gpustack_models.core.manifest import Algorithm, FileDigest
from gpustack_models.errors import GsmError
from gpustack_models.store.handles import Dir, storing
from gpustack_models.store.hashing import Hashed, HashJob, hash_files
from gpustack_models.store.layout import FILES, tree_name
from gpustack_models.store.store import Store


@dataclass(frozen=True, slots=True)
class BrokenBlob:
    """A blob whose bytes are not what its names say, and why."""

    names: tuple[FileDigest, ...]
    why: str


@dataclass(frozen=True, slots=True)
class BrokenTree:
    """A tree that shows something wrong: its digest and the first reason."""

    digest: str
    why: str


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """What was hashed, and what was found."""

    trees: int
    files: int
    bytes: int
    broken_blobs: tuple[BrokenBlob, ...]
    broken_trees: tuple[BrokenTree, ...]

    @property
    def passed(self) -> bool:
        """Whether everything is what it says it is."""
        return not self.broken_blobs and not self.broken_trees


@dataclass(slots=True)
class _Inode:
    """One file on disk: a path to it below the root, its size, the names it has as a blob, the trees that show it."""

    path: str
    size: int
    blobs: set[FileDigest] = field(default_factory=set)
    #: What trees say that it is, and which.
    shown: dict[FileDigest, set[str]] = field(default_factory=dict)

    @property
    def claims(self) -> set[FileDigest]:
        return self.blobs | set(self.shown)


def scrub(
    store: Store,
    digests: Collection[str] = (),
    *,
    threads: int | None = None,
    progress: Callable[[int], Callable[[int], None]] | None = None,
    stop: threading.Event | None = None,
) -> Scrubbed:
    """Hash what some trees show, or (with no digests) everything in the store.

    `progress` is called with the bytes to hash, and gives what is called with the bytes hashed. Raises
    GsmError(StorageFailed, Canceled).
    """
    with storing("the store cannot be verified"):
        look = _Look(store, digests)
        inodes = list(look.inodes.values())
        jobs = [HashJob(inode.path, _algorithms(inode.claims)) for inode in inodes]
        advance = progress(sum(inode.size for inode in inodes)) if progress else None
        answers = hash_files(jobs, store.root.top.fd, threads=threads, progress=advance, stop=stop, keep_going=True)
    broken_blobs = []
    for inode, answer in zip(inodes, answers, strict=True):
        wrong = {claim: why for claim in inode.claims if (why := _problem(claim, answer))}
        if wrong and _vanished(store, inode):
            continue
        if names := tuple(sorted(set(wrong) & inode.blobs)):
            broken_blobs.append(BrokenBlob(names, wrong[names[0]]))
        for claim, why in wrong.items():
            for digest in inode.shown.get(claim, ()):
                look.broken.setdefault(digest, why)
    return Scrubbed(
        trees=look.trees,
        files=len(inodes),
        bytes=sum(answer.size for answer in answers),
        broken_blobs=tuple(broken_blobs),
        broken_trees=tuple(BrokenTree(digest, why) for digest, why in sorted(look.broken.items())),
    )


class _Look:
    """What is on disk: every inode that is to be hashed, and the trees whose very shape is wrong."""

    def __init__(self, store: Store, digests: Collection[str]) -> None:
        self._store = store
        self.inodes: dict[int, _Inode] = {}
        self.broken: dict[str, str] = {}
        self.trees = 0
        blobs = list(store.blobs.all())
        names = {blob.inode: set[FileDigest]() for blob in blobs}
        for blob in blobs:
            names[blob.inode].add(blob.digest)
        if not digests:
            for blob in blobs:
                path = f"blobs/{blob.digest.algorithm}/{blob.digest.hex[:2]}/{blob.digest.hex}"
                self.inodes.setdefault(blob.inode, _Inode(path, blob.size, names[blob.inode]))
        for digest in digests or store.trees.digests():
            self._tree(digest, names)

    def _tree(self, digest: str, names: dict[int, set[FileDigest]]) -> None:
        tree = self._store.trees.lookup(digest)
        if tree is None:
            if self._store.root.trees.stat(tree_name(digest)):
                self.broken[digest] = "its manifest does not hash to its name"
            return
        self.trees += 1
        wanted = {entry.path: entry for entry in tree.manifest.entries}
        with suppress(FileNotFoundError), self._store.trees.files(digest) as files:
            for path, found in walk(files, ""):
                entry = wanted.pop(path, None)
                if entry is None:
                    self.broken.setdefault(digest, f"{path!r} is there and not in its manifest")
                    continue
                regular = stat.S_ISREG(found.st_mode)
                if not regular or found.st_size != entry.size:
                    self.broken.setdefault(digest, f"{path!r} is no file of {entry.size} bytes")
                if regular:
                    place = f"trees/{tree_name(digest)}/{FILES}/{path}"
                    inode = self.inodes.setdefault(
                        found.st_ino, _Inode(place, found.st_size, names.get(found.st_ino, set()))
                    )
                    inode.shown.setdefault(entry.digest, set()).add(digest)
        if wanted and self._store.trees.lookup(digest):  # else it was removed while we looked
            self.broken.setdefault(digest, f"{next(iter(wanted))!r} is missing")


def walk(folder: Dir, prefix: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """The path and kind of everything below a folder that is no folder itself, links not followed."""
    for name in sorted(folder.names()):
        found = folder.stat(name)
        if found is None:
            continue
        if stat.S_ISDIR(found.st_mode):
            with suppress(FileNotFoundError), folder.sub(name) as inner:
                yield from walk(inner, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", found


def _algorithms(claims: Collection[FileDigest]) -> tuple[Algorithm, ...]:
    return tuple(sorted({claim.algorithm for claim in claims}))


def _problem(claim: FileDigest, answer: Hashed) -> str:
    if answer.error:
        return answer.error.message
    return "" if claim in answer.digests else f"its bytes are not {claim}'s"


def _vanished(store: Store, inode: _Inode) -> bool:
    """Whether it was removed while we read: readers take no lock."""
    *folders, name = inode.path.split("/")
    try:
        with store.root.top.descend(folders) as directory:
            return directory.stat(name) is None
    except (FileNotFoundError, GsmError):
        return True
