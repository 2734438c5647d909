"""Owns the published trees: found by digest, put together out of sight, made visible by one rename, taken away by one.

Refuses a tree whose manifest does not hash to its name, and paths that this machine's consumers could not open.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gpustack_models.core.manifest import Entry, Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.blobs import READ_ONLY, SYNC_ONE_BY_ONE, Blobs
from gpustack_models.store.handles import DIRECTORY_MODE, Dir, sync_filesystem
from gpustack_models.store.layout import FILES, MANIFEST, STAGING, Root, digest_of, tree_name

DIRECTORY_READ_ONLY = 0o555
MAX_MANIFEST = 64 << 20
#: What Linux takes in one name; and in one path, less room for where a consumer mounts the tree.
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4095 - 256
#: One open handle per level is held while a tree is put together.
MAX_DEPTH = 128


@dataclass(frozen=True)
class Tree:
    """A published tree: its digest, the path its consumers read, and its canonical manifest as bytes."""

    digest: str
    path: Path
    data: bytes

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest, parsed when somebody asks."""
        return Manifest.parse(self.data, name=self.digest)


def check_paths(manifest: Manifest) -> None:
    """Refuse what a filesystem could not hold before a byte is fetched. Raises GsmError(InvalidManifest)."""
    for entry in manifest.entries:
        if problem := _problem_of_path(entry.path):
            raise GsmError(Reason.INVALID_MANIFEST, f"{manifest.digest}: {problem} ({entry.path[:80]!r}…)")


def _problem_of_path(path: str) -> str:
    parts = path.split("/")
    if len(parts) > MAX_DEPTH:
        return f"a path is {len(parts)} folders deep; a store takes {MAX_DEPTH}"
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"a path has {len(path.encode())} bytes; a store takes {MAX_PATH_BYTES}"
    if (longest := max(len(part.encode()) for part in parts)) > MAX_NAME_BYTES:
        return f"a name has {longest} bytes; a file system takes {MAX_NAME_BYTES}"
    return ""


class Trees:
    """The trees of a store. Looking needs no lock; everything else is for the writer, under the store's lock."""

    def __init__(self, root: Root) -> None:
        self._root = root

    def lookup(self, digest: str) -> Tree | None:
        """A published tree, or None. Costs the reading of one manifest, whatever the number of trees."""
        try:
            with self._root.trees.sub(tree_name(digest)) as folder:
                data = folder.read(MANIFEST, MAX_MANIFEST)
        except FileNotFoundError:
            return None
        if hashlib.sha256(data).hexdigest() != tree_name(digest):
            return None
        return Tree(digest, self._root.files_of(digest), data)

    def digests(self) -> list[str]:
        """The digests that have a folder, sorted; only `lookup` says whether it is a tree."""
        return sorted(digest for name in self._root.trees.names() if (digest := digest_of(name)))

    def files(self, digest: str) -> Dir:
        """A handle on a tree's files. Raises FileNotFoundError."""
        with self._root.trees.sub(tree_name(digest)) as folder:
            return folder.sub(FILES)

    def stage(self, manifest: Manifest, blobs: Blobs, number: int) -> str:
        """Put a tree together under a name that is no tree's, all of it synced. Returns that name.

        Raises FileNotFoundError when a blob is gone, OSError; what is half made is left for `discard`.
        """
        name = f"{STAGING}{tree_name(manifest.digest)}-{number}"
        self._root.trees.remove(name)
        with self._root.trees.make(name) as folder, folder.make(FILES) as files:
            staging = _Staging(blobs)
            staging.fill(files, manifest.entries)
            fd = folder.create(MANIFEST, READ_ONLY)
            with os.fdopen(fd, "wb") as file:
                file.write(manifest.data)
                file.flush()
                os.fchmod(file.fileno(), READ_ONLY)
                os.fsync(file.fileno())
            staging.close(files)
            staging.close(folder)
            if staging.bulk:
                sync_filesystem(folder)
        return name

    def publish(self, staged: str, digest: str, aside: str) -> None:
        """Make a staged tree visible, durably. A folder there that is no tree goes to the trash, named `aside`."""
        name = tree_name(digest)
        if self._root.trees.stat(name) is not None:
            if self.lookup(digest):
                self._root.trees.remove(staged)
                return
            self.withdraw(digest, aside)
        self._root.trees.rename(staged, self._root.trees, name)
        self._root.trees.sync()

    def discard(self, staged: str) -> None:
        """Remove what was staged. Raises OSError."""
        self._root.trees.remove(staged)

    def withdraw(self, digest: str, new: str) -> None:
        """Take a tree out of sight in one rename, into `trash/` under a new name; what is mounted stays mounted.

        Durable with the next sync of `trees/`: a power cut before shows the whole tree again.
        """
        move_tree(self._root.trees, tree_name(digest), self._root.trash, new)


def move_tree(source: Dir, name: str, target: Dir, new: str) -> None:
    """Move a published tree between folders. Raises OSError."""
    with source.sub(name) as folder:
        # Its `..` changes, for which the directory itself must be writable to an owner that is not root.
        os.fchmod(folder.fd, DIRECTORY_MODE)
        source.rename(name, target, new)
        os.fchmod(folder.fd, DIRECTORY_READ_ONLY)


class _Staging:
    """Fills one tree: an open handle per level of the path being written, each closed for good when it is left."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self.bulk = False

    def fill(self, files: Dir, entries: tuple[Entry, ...]) -> None:
        self.bulk = len({entry.path.rpartition("/")[0] for entry in entries}) > SYNC_ONE_BY_ONE
        names: list[str] = []
        handles = [files]
        try:
            for folders, entry in _by_folder(entries):
                kept = _common(names, folders)
                self._leave(handles, names, kept)
                for name in folders[kept:]:
                    handles.append(handles[-1].make(name))
                    names.append(name)
                self._blobs.link(entry.digest, handles[-1], entry.path.rpartition("/")[2])
            self._leave(handles, names, 0)
        finally:
            for handle in handles[1:]:
                handle.close()

    def close(self, folder: Dir) -> None:
        os.fchmod(folder.fd, DIRECTORY_READ_ONLY)
        if not self.bulk:
            folder.sync()

    def _leave(self, handles: list[Dir], names: list[str], kept: int) -> None:
        # The entries are sorted, so a folder that was left is never entered again.
        while len(names) > kept:
            names.pop()
            with handles.pop() as handle:
                self.close(handle)


def _by_folder(entries: tuple[Entry, ...]) -> Iterator[tuple[list[str], Entry]]:
    for entry in entries:
        yield entry.path.split("/")[:-1], entry


def _common(first: list[str], second: list[str]) -> int:
    count = 0
    while count < min(len(first), len(second)) and first[count] == second[count]:
        count += 1
    return count
