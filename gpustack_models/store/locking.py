"""Owns the one lock of a store: one writer per root, and who that is.

Refuses to outlive its process: the kernel gives the lock back when the holder dies, whatever it left behind.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from contextlib import suppress
from dataclasses import asdict, dataclass

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import plainjson
from gpustack_models.store.handles import Dir, planted, write_all
from gpustack_models.store.layout import LOCK

#: The record has one length, so that renewing it needs no free block: a full disk must still be collectable.
_LENGTH = 512


@dataclass(frozen=True, slots=True)
class Holder:
    """Who writes to a store: its process id, since when (wall clock), its command, whether it is there to stay."""

    pid: int
    since: float
    command: str
    lasting: bool = False

    def __str__(self) -> str:
        return f"{self.command} (process {self.pid})"


class WriterLock:
    """The held lock. Never unlink its file: the lock is the inode's."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        """Let the next writer in."""
        with suppress(OSError):
            os.pwrite(self._fd, b" " * _LENGTH, 0)
        os.close(self._fd)


def acquire(top: Dir, holder: Holder) -> WriterLock | None:
    """Take the lock, or None when another process has it."""
    fd = _open(top, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    record = json.dumps({"format": 1, **asdict(holder)})
    with suppress(OSError):  # who holds it is a courtesy; that it is held is the kernel's word
        os.lseek(fd, 0, os.SEEK_SET)
        write_all(fd, record.encode()[:_LENGTH].ljust(_LENGTH))
    return WriterLock(fd)


def held(top: Dir) -> bool:
    """Whether a process holds the lock now."""
    try:
        fd = _open(top, os.O_RDONLY)
    except (FileNotFoundError, PermissionError):
        return False  # who may not open the lock may not know
    try:
        # Shared and given back at once; a writer that meets it tries again a moment later.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def holder(top: Dir) -> Holder | None:
    """Who holds the lock, as it wrote there itself; None when nobody does or the record cannot be read."""
    try:
        record = plainjson.parse(top.read(LOCK, 4 * _LENGTH))
        since = plainjson.moment(record["since"])
        return Holder(int(record["pid"]), since, str(record["command"]), bool(record["lasting"]))
    except (OSError, GsmError, ValueError, KeyError, TypeError):
        return None


def locked_error(path: str, who: Holder | None) -> GsmError:
    """The refusal of a second writer."""
    by = str(who) if who else "another process"
    return GsmError(
        Reason.STORE_LOCKED,
        f"{path} is written to by {by}",
        hint="wait for it to end, or end it; reading (ls, status, path, verify) needs no lock",
    )


def _open(top: Dir, flags: int) -> int:
    """A handle on the lock file. Raises OSError; GsmError(StorageFailed) for anything planted in its place."""
    try:
        # O_NONBLOCK: a planted FIFO must not hold us until somebody writes to it.
        fd = os.open(LOCK, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600, dir_fd=top.fd)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise planted(top.join(LOCK), "the lock file") from error
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise planted(top.join(LOCK), "the lock file")
    return fd
