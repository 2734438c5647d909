"""Owns one file under way in `partial/`: its bytes, its checkpoints beside them, and what a resume may keep of both.

Refuses links and anything planted under its name: what is not its own regular file is replaced, never written through.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gpustack_models.core.manifest import FileDigest
from gpustack_models.errors import GsmError
from gpustack_models.store.handles import Dir, planted, write_all
from gpustack_models.store.hashing import CHUNK, Hasher
from gpustack_models.store.sources import Want
from gpustack_models.store.transfer import checkpoint
from gpustack_models.store.transfer.checkpoint import Checkpoint

#: Written bytes are pushed to the disk every so many, so that the last sync is short.
PUSH = 8 << 20

_MODE = 0o600
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NOT_OURS = (errno.ELOOP, errno.ENXIO, errno.EACCES)
_SYNC_FILE_RANGE_WRITE = 2


def name_of(digest: FileDigest) -> str:
    """The name in `partial/` of the file that will have this digest."""
    return f"{digest.algorithm}-{digest.hex}"


def kept_bytes(folder: Dir, want: Want) -> int:
    """How many bytes of a want a resume will keep, if the disk agrees: what a reservation need not count.

    Raises OSError, GsmError(StorageFailed).
    """
    name = name_of(want.digest)
    found = folder.stat(name)
    if found is None or not stat.S_ISREG(found.st_mode):
        return 0
    claims = _claims(folder, want)
    return checkpoint.kept(one for one in claims if one.position <= found.st_size)


class PartialFile:
    """An open file of `partial/`. Every method raises OSError; offsets and counts are bytes."""

    def __init__(self, folder: Dir, want: Want) -> None:
        self.want = want
        self.name = name_of(want.digest)
        self._folder = folder
        self._fd = _open_own(folder, self.name)
        self._log: int | None = None
        self._closing = threading.Lock()
        self.last_checkpoint = 0

    @property
    def path(self) -> Path:
        """Where it is, for whoever takes it over."""
        return Path(self._folder.path, self.name)

    def write(self, view: memoryview, offset: int) -> None:
        """Write every byte at an offset."""
        while view:
            written = os.pwrite(self._fd, view, offset)
            view, offset = view[written:], offset + written

    def read_into(self, view: memoryview, offset: int) -> int:
        """Read at an offset; what was written lately comes from memory."""
        return os.preadv(self._fd, (view,), offset)

    def push(self, offset: int, count: int) -> None:
        """Let the disk begin with these bytes; does not wait for it, and fails silently where it cannot."""
        if _sync_file_range is not None:
            _sync_file_range(self._fd, offset, count, _SYNC_FILE_RANGE_WRITE)

    def empty(self) -> None:
        """Begin anew."""
        if os.fstat(self._fd).st_size:
            os.ftruncate(self._fd, 0)

    def resume(self, hasher: Hasher, stop: Callable[[], bool], progress: Callable[[int], None]) -> tuple[Hasher, int]:
        """Keep the longest prefix that a checkpoint vouches for and the disk agrees with; drop the rest.

        Returns the hasher fed with the prefix, and its length. `progress` is called with the bytes confirmed so far.
        """
        size = os.fstat(self._fd).st_size
        claims = [one for one in _claims(self._folder, self.want) if one.position <= size]
        good, position, confirmed = hasher.copy(), 0, 0
        buffer = memoryview(bytearray(CHUNK))
        for claim in claims:
            while position < claim.position and not stop():
                count = self.read_into(buffer[: claim.position - position], position)
                if not count:
                    break
                hasher.update(buffer[:count])
                position += count
            if position != claim.position or hasher.running(self.want.digest.algorithm) != claim.hex:
                break
            good, confirmed = hasher.copy(), position
            progress(confirmed)
        if not stop():
            os.ftruncate(self._fd, confirmed)
            self._rewrite([one for one in claims if one.position <= confirmed])
        self.last_checkpoint = confirmed
        return good, confirmed

    def checkpoint(self, position: int, hexadecimal: str) -> None:
        """Sync the data, then claim that its first bytes have this running digest; nothing once it is closed."""
        with self._closing:
            if self._fd < 0:
                return
            os.fdatasync(self._fd)
            if self._log is None:
                self._log = self._open_log()
                if not os.fstat(self._log).st_size:
                    write_all(self._log, checkpoint.header(self.want.digest, self.want.size))
            write_all(self._log, checkpoint.line(Checkpoint(position, hexadecimal)))

    def sync(self) -> None:
        """Make the whole file durable."""
        os.fsync(self._fd)

    def forget_checkpoints(self) -> None:
        """The file is whole: what a resume would need is not needed any more."""
        with suppress(FileNotFoundError):
            self._folder.unlink(self.name + checkpoint.SUFFIX)

    def discard(self) -> None:
        """Remove the file and its checkpoints; its bytes are not what they should be."""
        self.forget_checkpoints()
        with suppress(FileNotFoundError):
            self._folder.unlink(self.name)

    def close(self) -> None:
        """Give the handles back. Closing twice is fine."""
        with self._closing:
            for fd in (self._fd, self._log):
                if fd is not None and fd >= 0:
                    os.close(fd)
            self._fd, self._log = -1, None

    def _open_log(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        return os.open(self.name + checkpoint.SUFFIX, flags, _MODE, dir_fd=self._folder.fd)

    def _rewrite(self, claims: list[Checkpoint]) -> None:
        name = self.name + checkpoint.SUFFIX
        if claims:
            lines = b"".join(checkpoint.line(one) for one in claims)
            self._folder.write(name, checkpoint.header(self.want.digest, self.want.size) + lines, sync=False)
        elif self._folder.stat(name) is not None:
            self._folder.remove(name)


def _claims(folder: Dir, want: Want) -> tuple[Checkpoint, ...]:
    try:
        data = folder.read(name_of(want.digest) + checkpoint.SUFFIX, checkpoint.MAX_BYTES)
    except FileNotFoundError:
        return ()
    except GsmError:
        return ()  # planted, or larger than any of ours: no claim, and a fresh one takes its place
    return checkpoint.parse(data, want.digest, want.size)


def _open_own(folder: Dir, name: str) -> int:
    try:
        fd = os.open(name, _OPEN, _MODE, dir_fd=folder.fd)
    except IsADirectoryError as error:
        raise planted(folder.join(name), "a regular file") from error
    except OSError as error:
        if error.errno not in _NOT_OURS:
            raise
    else:
        found = os.fstat(fd)
        # A second name is a blob's, left by a crash while it was given: writing here would write there.
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            return fd
        os.close(fd)
    folder.unlink(name)
    return folder.create(name, _MODE)


def _load_sync_file_range() -> Callable[[int, int, int, int], int] | None:
    try:
        function = ctypes.CDLL(None).sync_file_range
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function


_sync_file_range = _load_sync_file_range()
