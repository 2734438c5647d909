"""Owns how a file that is on this disk already gets into `partial/` without its bytes being written again, if it can.

Refuses to share an inode with a file of another owner, or with one that somebody has open for writing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import copying
from gpustack_models.store.blobs import READ_ONLY
from gpustack_models.store.handles import Dir

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
#: What `link` says where a copy still helps: another filesystem, too many links, a policy against it.
_NO_LINK = (errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EACCES, errno.ENOENT, errno.EOPNOTSUPP)


class How(StrEnum):
    """How an imported file came in."""

    HELD = "held"
    REFLINK = "reflink"
    LINK = "link"
    COPY = "copy"


@dataclass
class Taken:
    """A file taken into `partial/`, not yet verified. A linked one shares its inode, mode included, with its source."""

    name: str
    how: How
    size: int
    _source: int
    _found: os.stat_result
    _leased: bool

    def settled(self) -> bool:
        """Whether nobody wrote to it since it was taken; only then its hash says anything."""
        if self.how is not How.LINK:
            return True
        if self._leased:
            return fcntl.fcntl(self._source, fcntl.F_GETLEASE) == fcntl.F_RDLCK
        now = os.fstat(self._source)
        return (now.st_size, now.st_mtime_ns) == (self._found.st_size, self._found.st_mtime_ns)

    def keep(self) -> None:
        """It was verified, and is the store's."""
        os.close(self._source)

    def give_back(self, partial: Dir) -> None:
        """It is not what it should be: the source is left as it was."""
        with suppress(OSError):
            partial.unlink(self.name)
        if self.how is How.LINK:
            with suppress(OSError):
                os.fchmod(self._source, stat.S_IMODE(self._found.st_mode))
        os.close(self._source)


def take(folder: int, path: str, partial: Dir, name: str, *, copy: bool = False) -> Taken:
    """Take one file below `folder` into `partial/`: a reflink, else a hard link, else (or with `copy`) a copy.

    A hard link makes the source read-only, and asks for the file to have no writer and the store's own owner.
    Raises OSError; GsmError(InvalidInput) for what is no regular file.
    """
    source = os.open(path, _OPEN, dir_fd=folder)
    try:
        found = os.fstat(source)
        if not stat.S_ISREG(found.st_mode):
            raise GsmError(Reason.INVALID_INPUT, f"{path} is not a regular file")
        if _duplicate(source, partial, name, clone_only=not copy):
            how = How.COPY if copy else How.REFLINK
            return Taken(name, how, found.st_size, source, found, False)
        leased = _link(source, found, partial, name)
        if leased is not None:
            return Taken(name, How.LINK, found.st_size, source, found, leased)
        _duplicate(source, partial, name, clone_only=False)
        return Taken(name, How.COPY, found.st_size, source, found, False)
    except BaseException:
        os.close(source)
        raise


def _duplicate(source: int, partial: Dir, name: str, *, clone_only: bool) -> bool:
    """Put an independent file there: a reflink, or every byte. False when only a reflink will do and there is none."""
    target = partial.create(name)
    try:
        done = copying.clone(source, target)
        if not done and not clone_only:
            copying.copy(source, target)
            done = True
    except BaseException:
        partial.unlink(name)
        raise
    finally:
        os.close(target)
    if not done:
        partial.unlink(name)
    return done


def _link(source: int, found: os.stat_result, partial: Dir, name: str) -> bool | None:
    """Put a hard link there: whether a lease guards it, or None where sharing the file is not safe or not possible."""
    store = os.fstat(partial.fd)
    if (found.st_uid, found.st_dev) != (store.st_uid, store.st_dev):
        return None
    mode = stat.S_IMODE(found.st_mode)
    try:
        os.fchmod(source, READ_ONLY)
        leased = _take_lease(source)
        if leased is not None:
            os.link(f"/proc/self/fd/{source}", name, dst_dir_fd=partial.fd, follow_symlinks=True)
            return leased
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
    os.fchmod(source, mode)
    return None


def _take_lease(source: int) -> bool | None:
    """Take a read lease: the kernel grants it while nobody has the file open for writing, and breaks it when one comes.

    None when somebody has; False where the filesystem knows no leases.
    """
    try:
        fcntl.fcntl(source, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(source, fcntl.F_SETSIG, signal.SIGURG)  # the default, SIGIO, would end the process
    except OSError as error:
        return None if error.errno in (errno.EAGAIN, errno.EACCES) else False
    return True
