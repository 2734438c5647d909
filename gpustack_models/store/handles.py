"""Owns the file operations of the store: each relative to an open directory, each of one name, none through a link.

Refuses names of more than one component, and anything planted that is not the regular file or directory expected.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from gpustack_models.errors import GsmError, Reason

TEMPORARY = ".tmp-"
FILE_MODE = 0o644
DIRECTORY_MODE = 0o755

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a planted FIFO must not hold us until somebody writes to it.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_COUNTER = itertools.count()
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Dir:
    """An open directory. `path` is its name in messages only; nothing is opened by it."""

    __slots__ = ("fd", "path")

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path

    @classmethod
    def at(cls, path: str) -> Self:
        """Open the root of all handles, as the person named it: this one path may lead through links."""
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give the handle back."""
        os.close(self.fd)

    def join(self, name: str) -> str:
        """What a message calls an entry of this directory."""
        return f"{self.path}/{name}"

    def sub(self, name: str) -> Dir:
        """Open a directory in this one. Raises FileNotFoundError; GsmError(StorageFailed) for a link or a file."""
        try:
            return Dir(os.open(_single(name), _DIRECTORY, dir_fd=self.fd), self.join(name))
        except NotADirectoryError as error:
            raise planted(self.join(name), "a directory") from error

    def make(self, name: str, mode: int = DIRECTORY_MODE) -> Dir:
        """Open a directory in this one, made when missing (not yet synced)."""
        with suppress(FileExistsError):
            os.mkdir(_single(name), mode, dir_fd=self.fd)
        return self.sub(name)

    def descend(self, folders: Iterable[str]) -> Dir:
        """Open a directory some levels below, each level as `sub` does."""
        current = self.again()
        for name in folders:
            with current:
                current = current.sub(name)
        return current

    def again(self) -> Dir:
        """A second handle with a position of its own."""
        return Dir(os.open(".", _DIRECTORY, dir_fd=self.fd), self.path)

    def names(self) -> list[str]:
        """The names in this directory, in no order."""
        # A listing moves the handle's position, which threads would share.
        with self.again() as other:
            return os.listdir(other.fd)  # noqa: PTH208 - by handle, not by path

    def stat(self, name: str) -> os.stat_result | None:
        """What an entry is, links not followed; None when there is none."""
        try:
            return os.stat(_single(name), dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, name: str) -> int:
        """A handle on a regular file, for reading. Raises FileNotFoundError; GsmError(StorageFailed) for a link."""
        try:
            fd = os.open(_single(name), _READ, dir_fd=self.fd)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise planted(self.join(name), "a regular file") from error
            raise
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise planted(self.join(name), "a regular file")
        return fd

    def create(self, name: str, mode: int = FILE_MODE) -> int:
        """A handle on a new regular file, for writing. Raises FileExistsError for whatever is there."""
        return os.open(_single(name), _CREATE, mode, dir_fd=self.fd)

    def read(self, name: str, limit: int) -> bytes:
        """A whole regular file of at most `limit` bytes. Raises FileNotFoundError, GsmError(StorageFailed)."""
        fd = self.open(name)
        with os.fdopen(fd, "rb", buffering=0) as file:
            data = bytearray()
            while len(data) <= limit and (chunk := file.read(min(1 << 20, limit + 1 - len(data)))):
                data += chunk
        if len(data) > limit:
            raise GsmError(Reason.STORAGE_FAILED, f"{self.join(name)} is larger than {limit} bytes")
        return bytes(data)

    def write(self, name: str, data: bytes, *, mode: int = FILE_MODE, sync: bool = True) -> None:
        """Put a small file in one step: a temporary name, `fsync`, `rename`, and the directory synced."""
        temporary, fd = self._fresh(mode)
        try:
            try:
                os.fchmod(fd, mode)
                write_all(fd, data)
                if sync:
                    os.fsync(fd)
            finally:
                os.close(fd)
            self.rename(temporary, self, name)
        except BaseException:
            with suppress(OSError):
                self.unlink(temporary)
            raise
        if sync:
            self.sync()

    def _fresh(self, mode: int) -> tuple[str, int]:
        # In a container, the process that died and left a name behind had the same id.
        while True:
            name = f"{TEMPORARY}{os.getpid()}-{next(_COUNTER)}"
            with suppress(FileExistsError):
                return name, self.create(name, mode)

    def link(self, name: str, to: Dir, new: str) -> None:
        """Another name for a file; a link is linked itself, never what it points at."""
        os.link(_single(name), _single(new), src_dir_fd=self.fd, dst_dir_fd=to.fd, follow_symlinks=False)

    def rename(self, name: str, to: Dir, new: str) -> None:
        """Move an entry."""
        os.rename(_single(name), _single(new), src_dir_fd=self.fd, dst_dir_fd=to.fd)

    def unlink(self, name: str) -> None:
        """Remove a name that is no directory."""
        os.unlink(_single(name), dir_fd=self.fd)

    def remove(self, name: str) -> None:
        """Remove an entry and all below it; links are removed, never followed. What is gone already is fine."""
        try:
            os.unlink(_single(name), dir_fd=self.fd)
        except FileNotFoundError:
            return
        except (IsADirectoryError, PermissionError):
            self._remove_directory(name)

    def _remove_directory(self, name: str) -> None:
        with suppress(FileNotFoundError):
            with self.sub(name) as inner:
                os.fchmod(inner.fd, 0o700)  # published directories are read-only, for their owner too
                for entry in inner.names():
                    inner.remove(entry)
            os.rmdir(name, dir_fd=self.fd)

    def sync(self) -> None:
        """Make this directory's names durable."""
        os.fsync(self.fd)


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write every byte; a short write goes on where it stopped."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_filesystem(directory: Dir) -> None:
    """Make everything on a directory's filesystem durable: for many small files, one wait in place of thousands."""
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
    elif syncfs(directory.fd):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), directory.path)


def planted(path: str, expected: str) -> GsmError:
    """The refusal of an entry that is not what the store put there."""
    return GsmError(
        Reason.STORAGE_FAILED,
        f"{path} is not {expected} of the store; links and other kinds are never followed",
        hint="look at it, and remove it if you did not mean it to be there",
    )


def storage_error(error: OSError, what: str) -> GsmError:
    """An operating system's error as one of ours: a full disk is InsufficientCapacity, any other StorageFailed."""
    why = os.strerror(error.errno) if error.errno else str(error)
    where = f" ({error.filename})" if isinstance(error.filename, str) else ""
    if error.errno in _FULL:
        hint = "gsm node-store gc --dry-run shows what could be removed"
        return GsmError(Reason.INSUFFICIENT_CAPACITY, f"{what}: {why}{where}", hint=hint)
    hint = {
        errno.EROFS: "remount the filesystem for writing",
        errno.EACCES: "the store belongs to another user; run as its owner, or choose another --root",
        errno.EPERM: "the store belongs to another user; run as its owner, or choose another --root",
    }.get(error.errno or 0, "")
    return GsmError(Reason.STORAGE_FAILED, f"{what}: {why}{where}", hint=hint)


@contextmanager
def storing(what: str) -> Iterator[None]:
    """Name what was being done when the operating system refused: OSError leaves as GsmError."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, what) from error


def _single(name: str) -> str:
    if not name or "/" in name or name in (".", "..") or "\0" in name:
        raise GsmError(Reason.INVALID_INPUT, f"{name!r} is not a single file name")
    return name
