"""Owns the verified files: `blobs/<algorithm>/<2 hex>/<hex>`, read-only, each named by its own digests.

Refuses a file that was not verified by whoever hands it over, and to replace a good blob by another inode.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gpustack_models.core.manifest import Algorithm, FileDigest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import copying
from gpustack_models.store.handles import TEMPORARY, Dir, planted, sync_filesystem
from gpustack_models.store.hashing import Hasher
from gpustack_models.store.layout import Root, blob_place

#: Up to here files and directories are synced one by one; beyond, one wait for the whole filesystem is shorter.
SYNC_ONE_BY_ONE = 32
READ_ONLY = 0o444
_COUNTER = itertools.count()


@dataclass(frozen=True, slots=True)
class Verified:
    """A file in `partial/` whose bytes were hashed: its name there, size, known digests, whether it is synced."""

    name: str
    size: int
    digests: tuple[FileDigest, ...]
    synced: bool


@dataclass(frozen=True, slots=True)
class BlobFile:
    """One name of a blob on disk: its digest, size, inode, the bytes it takes, how many names the inode has."""

    digest: FileDigest
    size: int
    inode: int
    allocated: int
    links: int


class Blobs:
    """The blobs of a store. Looking needs no lock; everything else is for the writer."""

    def __init__(self, root: Root) -> None:
        self._root = root
        #: Two attempts may come with one content by different names: one after the other, so that it stays one inode.
        self._naming = threading.Lock()

    def find(self, digest: FileDigest) -> BlobFile | None:
        """A held blob, or None. Raises GsmError(StorageFailed) when something else lies under its name."""
        algorithm, bucket_name, name = blob_place(digest)
        try:
            with self._root.blobs[algorithm].sub(bucket_name) as bucket:
                return _blob(bucket, name, digest)
        except FileNotFoundError:
            return None

    def open(self, digest: FileDigest) -> int:
        """A handle on a held blob, for reading. Raises FileNotFoundError."""
        algorithm, bucket_name, name = blob_place(digest)
        with self._root.blobs[algorithm].sub(bucket_name) as bucket:
            return bucket.open(name)

    def all(self) -> Iterator[BlobFile]:
        """Every name of every blob; what is removed meanwhile may be left out."""
        for algorithm, folder in self._root.blobs.items():
            for bucket_name in sorted(folder.names()):
                try:
                    bucket = folder.sub(bucket_name)
                except FileNotFoundError:
                    continue
                with bucket:
                    yield from _blobs_of(bucket, algorithm)

    def adopt(self, files: Sequence[Verified]) -> None:
        """Give verified files of `partial/` their names as blobs, durably. Raises OSError, GsmError(StorageFailed)."""
        self._make_durable(files)
        touched: set[tuple[Algorithm, str]] = set()
        for file in files:
            with self._naming:
                touched |= self._name(file)
        self._sync_buckets(touched)
        for file in files:
            with suppress(FileNotFoundError):
                self._root.partial.unlink(file.name)

    def link(self, digest: FileDigest, to: Dir, name: str) -> None:
        """Give a held blob one more name, in a tree. Raises FileNotFoundError, OSError."""
        algorithm, bucket_name, hexadecimal = blob_place(digest)
        with self._root.blobs[algorithm].sub(bucket_name) as bucket:
            try:
                bucket.link(hexadecimal, to, name)
            except OSError as error:
                if error.errno != errno.EMLINK:
                    raise
                self._renew(digest, bucket)
                bucket.link(hexadecimal, to, name)

    def discard(self, digest: FileDigest, new: str) -> None:
        """Take a blob's name away, into `trash/` under a new name. What is gone already is fine."""
        algorithm, bucket_name, name = blob_place(digest)
        with suppress(FileNotFoundError), self._root.blobs[algorithm].sub(bucket_name) as bucket:
            bucket.rename(name, self._root.trash, new)

    def _make_durable(self, files: Sequence[Verified]) -> None:
        unsynced = [file for file in files if not file.synced]
        for file in files:
            fd = self._root.partial.open(file.name)
            try:
                if os.fstat(fd).st_size != file.size:
                    raise GsmError(Reason.INTEGRITY_MISMATCH, f"{file.digests[0]} changed after it was verified")
                os.fchmod(fd, READ_ONLY)
                if not file.synced and len(unsynced) <= SYNC_ONE_BY_ONE:
                    os.fsync(fd)
            finally:
                os.close(fd)
        if len(unsynced) > SYNC_ONE_BY_ONE:
            sync_filesystem(self._root.partial)

    def _name(self, file: Verified) -> set[tuple[Algorithm, str]]:
        # A name that is held stays on its inode, and the names still missing join it: one content, one inode.
        names = {digest: self.find(digest) for digest in file.digests}
        held = next((found for found in names.values() if found and found.size == file.size), None)
        touched = set()
        for digest, found in names.items():
            if found and found.size == file.size:
                continue
            algorithm, bucket_name, name = blob_place(digest)
            with self._root.blobs[algorithm].make(bucket_name) as bucket:
                if found:
                    bucket.unlink(name)  # of another size: broken, and no longer worth its name
                if held:
                    self.link(held.digest, bucket, name)
                else:
                    self._root.partial.link(file.name, bucket, name)
            touched.add((algorithm, bucket_name))
        return touched

    def _sync_buckets(self, touched: Iterable[tuple[Algorithm, str]]) -> None:
        buckets = sorted(touched)
        if len(buckets) > SYNC_ONE_BY_ONE:
            sync_filesystem(self._root.partial)
            return
        for algorithm, bucket_name in buckets:
            with self._root.blobs[algorithm].sub(bucket_name) as bucket:
                bucket.sync()
        for algorithm in {algorithm for algorithm, _ in buckets}:
            self._root.blobs[algorithm].sync()

    def _renew(self, digest: FileDigest, bucket: Dir) -> None:
        """Put a copy in the place of a blob whose inode takes no more links; trees keep the old inode."""
        name = f"{TEMPORARY}{os.getpid()}-{next(_COUNTER)}"
        partial = self._root.partial
        source = bucket.open(digest.hex)
        try:
            target = partial.create(name)
            try:
                hasher = Hasher((digest.algorithm,), os.fstat(source).st_size)
                if not copying.clone(source, target):
                    copying.copy(source, target, hasher)
                    if hasher.digests() != (digest,):
                        raise GsmError(Reason.INTEGRITY_MISMATCH, f"the blob {digest} is broken on disk", hint=_VERIFY)
                os.fchmod(target, READ_ONLY)
                os.fsync(target)
            finally:
                os.close(target)
            partial.rename(name, bucket, digest.hex)
        except BaseException:
            with suppress(OSError):
                partial.unlink(name)
            raise
        finally:
            os.close(source)


_VERIFY = "gsm node-store verify --repair fetches it again"


def _blobs_of(bucket: Dir, algorithm: Algorithm) -> Iterator[BlobFile]:
    for name in sorted(bucket.names()):
        if len(name) == algorithm.hex_length and (found := _blob(bucket, name, FileDigest(algorithm, name))):
            yield found


def _blob(bucket: Dir, name: str, digest: FileDigest) -> BlobFile | None:
    found = bucket.stat(name)
    if found is None:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise planted(bucket.join(name), "a regular file")
    return BlobFile(digest, found.st_size, found.st_ino, found.st_blocks * 512, found.st_nlink)
