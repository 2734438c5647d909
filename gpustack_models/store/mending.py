"""Owns what follows a scrub: what is broken goes out of sight at once, and what is mounted is mended under its names.

Refuses to take a file away from under a mount: there, a good file takes a bad one's name in one rename.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from gpustack_models.core.manifest import FileDigest, Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import recovery
from gpustack_models.store.attempts import MAX_MESSAGE
from gpustack_models.store.facts import Snapshot
from gpustack_models.store.handles import DIRECTORY_MODE, TEMPORARY, Dir, storing
from gpustack_models.store.layout import FILES, WITHDRAWN, tree_name
from gpustack_models.store.records import Asked, Failure, Reference
from gpustack_models.store.scan import withdrawn_digest
from gpustack_models.store.scrub import BrokenTree, Scrubbed, walk
from gpustack_models.store.trees import DIRECTORY_READ_ONLY
from gpustack_models.store.writer import Writer

_COUNTER = itertools.count()


def sharing(snapshot: Snapshot, names: Iterable[FileDigest], besides: Iterable[str]) -> list[str]:
    """The other trees that show one of these files."""
    broken, known = frozenset(names), set(besides)
    return [tree.digest for tree in snapshot.trees if tree.digest not in known and tree.files & broken]


def withdraw(writer: Writer, found: Scrubbed) -> None:
    """Take broken blobs and trees out of sight, so that nothing unverified is left visible.

    A referenced tree waits in the trash, since what is mounted must keep its files; the manifests are kept as asked
    for, so that what is still good stays for a pull. Raises GsmError(StorageFailed).
    """
    gone: set[str] = set()
    with storing("what is broken cannot be withdrawn"), writer.guard:
        references = Counter(reference.digest for reference in writer.ledger.all(Reference))
        for broken in found.broken_trees:
            with suppress(OSError):  # a full disk must not keep what is broken in sight
                _keep_for_a_pull(writer, broken)
            name = writer.trash_name(tree_name(broken.digest) + (WITHDRAWN if references[broken.digest] else ""))
            with suppress(FileNotFoundError):
                writer.trees.withdraw(broken.digest, name)
            gone |= set() if references[broken.digest] else {name}
        for blob in found.broken_blobs:
            for digest in blob.names:
                name = writer.trash_name(digest.hex)
                writer.blobs.discard(digest, name)
                gone.add(name)
        writer.root.trees.sync()
        writer.generation += 1
    for broken in found.broken_trees:
        writer.log("broken", broken.digest, why=broken.why)
    with storing("the trash cannot be emptied"):
        recovery.empty(writer.root, gone)


def _keep_for_a_pull(writer: Writer, broken: BrokenTree) -> None:
    now = writer.clock.now()
    if tree := writer.trees.lookup(broken.digest):
        writer.pending.put(tree.manifest)
        writer.ledger.put(Asked(broken.digest, 0, now))
    why = f"it broke on the disk: {broken.why}"[:MAX_MESSAGE]
    writer.ledger.put(Failure(broken.digest, 0, Reason.INTEGRITY_MISMATCH, why, now))


def heal(writer: Writer, manifest: Manifest) -> int:
    """Mend the withdrawn copies of a digest that may still be mounted. Returns how many files were replaced.

    Call it when every file of the manifest is held. Raises GsmError(StorageFailed).
    """
    mended: list[bool] = []
    with storing(f"the mounted copies of {manifest.digest} cannot be mended"), writer.guard:
        for name in writer.root.trash.names():
            if withdrawn_digest(name) == manifest.digest:
                with suppress(FileNotFoundError), writer.root.trash.sub(name) as folder, folder.sub(FILES) as files:
                    mended += _mend(writer, files, manifest)
    if mended:
        writer.log("mended", manifest.digest, files=mended.count(True), left=mended.count(False))
    return mended.count(True)


def _mend(writer: Writer, files: Dir, manifest: Manifest) -> list[bool]:
    shown = {path: found.st_ino for path, found in walk(files)}
    return [
        _replace(writer, files, entry.path, entry.digest)
        for entry in manifest.entries
        if (blob := writer.blobs.find(entry.digest)) and shown.get(entry.path) != blob.inode
    ]


def _replace(writer: Writer, files: Dir, path: str, digest: FileDigest) -> bool:
    """Give a file its name again; False where its folder is gone, or a folder has its name."""
    # Linked elsewhere first: nothing of ours may be seen in a mounted tree, and a rename replaces in one step.
    partial = writer.root.partial
    temporary = f"{TEMPORARY}mend-{os.getpid()}-{next(_COUNTER)}"
    writer.blobs.link(digest, partial, temporary)
    *folders, name = path.split("/")
    try:
        with files.descend(folders) as folder:
            os.fchmod(folder.fd, DIRECTORY_MODE)
            try:
                partial.rename(temporary, folder, name)
            finally:
                os.fchmod(folder.fd, DIRECTORY_READ_ONLY)
            folder.sync()
    except (FileNotFoundError, IsADirectoryError, GsmError):
        partial.unlink(temporary)
        return False
    return True
