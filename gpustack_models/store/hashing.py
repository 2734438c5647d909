"""Owns the hashing of files: many at once, about one thread per core, each byte read once.

Refuses to judge: it says what a file's size and digests are, or why the file could not be read.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gpustack_models.core.manifest import Algorithm, FileDigest, git_blob_header
from gpustack_models.errors import GsmError, Reason

CHUNK = 1 << 20
#: Up to here a file costs more in system calls than in hashing, and a second thread only fights for the interpreter.
SMALL = 32 << 10
#: What opening, looking and closing cost, in bytes hashed meanwhile: so a thousand small files weigh what they take.
_OVERHEAD = 16 << 10
_SMALL_BATCH = 64

BOTH = (Algorithm.SHA256, Algorithm.GITSHA1)


class Hasher:
    """The digests of one content of `size` bytes, fed in order; a git blob id begins with the size."""

    __slots__ = ("_states",)

    def __init__(self, algorithms: Iterable[Algorithm], size: int) -> None:
        self._states = {algorithm: _new(algorithm, size) for algorithm in algorithms}

    def update(self, data: bytes | bytearray | memoryview) -> None:
        """Feed the next bytes; the interpreter's lock is released for more than 2 KiB."""
        for state in self._states.values():
            state.update(data)

    def copy(self) -> Hasher:
        """The same state, to be fed on its own."""
        other = Hasher((), 0)
        other._states = {algorithm: state.copy() for algorithm, state in self._states.items()}
        return other

    def running(self, algorithm: Algorithm) -> str:
        """The hexadecimal digest of what was fed so far, by one of its algorithms."""
        return self._states[algorithm].hexdigest()

    def digests(self) -> tuple[FileDigest, ...]:
        """The digests of what was fed, in the order of the algorithms asked for."""
        return tuple(FileDigest(algorithm, state.hexdigest()) for algorithm, state in self._states.items())


def _new(algorithm: Algorithm, size: int) -> hashlib._Hash:
    if algorithm is Algorithm.SHA256:
        return hashlib.sha256()
    return hashlib.sha1(git_blob_header(size), usedforsecurity=False)


@dataclass(frozen=True, slots=True)
class HashJob:
    """One file to hash: a path below the root (or an absolute one), and the algorithms.

    With `size`, a file of any other size is not read: its answer has the true size and no digests.
    """

    path: str
    algorithms: tuple[Algorithm, ...] = (Algorithm.SHA256,)
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Hashed:
    """What one job's file is: its size in bytes and its digests in the order of `job.algorithms`; or its error."""

    job: HashJob
    size: int = 0
    digests: tuple[FileDigest, ...] = ()
    error: GsmError | None = None


def hash_files(
    jobs: Sequence[HashJob],
    root: Path | int,
    *,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    stop: threading.Event | None = None,
    keep_going: bool = False,
    follow_links: bool = False,
) -> list[Hashed]:
    """Hash files below `root` (a directory or its handle); the answers are in the order of the jobs.

    `threads` is at most this many (default: one per core this process may use). `progress` gets the bytes hashed since
    its last call, from one thread at a time. A set `stop` ends in GsmError(Canceled). A file that cannot be read, or
    that changes meanwhile, ends the run with its GsmError (NotFound, StorageFailed, InvalidInput), or, with
    `keep_going`, is the `error` of its own answer.
    """
    handle = root if isinstance(root, int) else _open_root(root)
    try:
        run = _Run(jobs, handle, None if isinstance(root, int) else root, progress, stop, keep_going, follow_links)
        return run.all(threads or available_cores())
    finally:
        if handle != root:
            os.close(handle)


def available_cores() -> int:
    """How many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def plan(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Work items as indexes of `sizes`, longest first, so that the last ones to end are short.

    All small files are one item: one thread does them faster than several do.
    """
    small = tuple(index for index, size in enumerate(sizes) if size <= SMALL)
    items = [(index,) for index, size in enumerate(sizes) if size > SMALL] + ([small] if small else [])
    return sorted(items, key=lambda item: -sum(sizes[index] + _OVERHEAD for index in item))


class _Run:
    """One call of hash_files: what its threads share."""

    def __init__(
        self,
        jobs: Sequence[HashJob],
        handle: int,
        root: Path | None,
        progress: Callable[[int], None] | None,
        stop: threading.Event | None,
        keep_going: bool,
        follow_links: bool,
    ) -> None:
        self.jobs = jobs
        self.handle = handle
        self.root = root
        self.progress = progress
        self.stop = stop or threading.Event()
        self.keep_going = keep_going
        # O_NONBLOCK: opening a FIFO that was planted among the files must not wait for a writer.
        self.flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
        self.results: list[Hashed | None] = [None] * len(jobs)
        self.halt = threading.Event()
        self.reporting = threading.Lock()

    def all(self, threads: int) -> list[Hashed]:
        items = deque(plan([self._expected_size(job) for job in self.jobs]))
        helpers = min(threads, len(items)) - 1
        with ThreadPoolExecutor(max(helpers, 1), "hash") as pool:
            try:
                futures = [pool.submit(self._work, items) for _ in range(helpers)]
                self._work(items)
                for future in futures:
                    future.result()
            finally:
                self.halt.set()
        if self.stop.is_set():
            raise GsmError(Reason.CANCELED, "hashing was canceled")
        results = [result for result in self.results if result is not None]
        if not self.keep_going and (failed := next((result.error for result in results if result.error), None)):
            raise failed
        return results

    def _work(self, items: deque[tuple[int, ...]]) -> None:
        buffer = bytearray(CHUNK)
        while items and not self._over:
            try:
                item = items.popleft()
            except IndexError:
                return
            if len(item) == 1:
                self._hash(item[0], buffer)
            else:
                self._hash_small(item, buffer)

    def _hash_small(self, item: tuple[int, ...], buffer: bytearray) -> None:
        for start in range(0, len(item), _SMALL_BATCH):
            if self._over:
                return
            for index in item[start : start + _SMALL_BATCH]:
                self._hash(index, buffer)

    def _hash(self, index: int, buffer: bytearray) -> None:
        job = self.jobs[index]
        try:
            self.results[index] = self._read(job, buffer)
        except OSError as error:
            self._failed(index, _explained(error, self._name(job)))
        except GsmError as error:
            self._failed(index, error)

    def _failed(self, index: int, error: GsmError) -> None:
        self.results[index] = Hashed(self.jobs[index], error=error)
        if not self.keep_going:
            self.halt.set()

    def _read(self, job: HashJob, buffer: bytearray) -> Hashed | None:
        handle = os.open(job.path, self.flags, dir_fd=self.handle)
        try:
            before = os.fstat(handle)
            size = before.st_size
            if not stat.S_ISREG(before.st_mode):
                raise GsmError(Reason.INVALID_INPUT, f"{self._name(job)} is not a regular file")
            if job.size is not None and job.size != size:
                return Hashed(job, size)
            hasher = Hasher(job.algorithms, size)
            if size <= SMALL:
                data = os.read(handle, size + 1)
                hasher.update(data)
                changed = len(data) != size
                self._report(size)
            else:
                read = self._stream(handle, hasher, buffer)
                after = os.fstat(handle)
                changed = (read, after.st_size, after.st_mtime_ns) != (size, size, before.st_mtime_ns)
        finally:
            os.close(handle)
        if self._over:
            return None
        if changed:
            raise GsmError(
                Reason.STORAGE_FAILED,
                f"{self._name(job)} changed while it was read",
                hint="hash it again when nothing writes to it",
            )
        return Hashed(job, size, hasher.digests())

    def _stream(self, handle: int, hasher: Hasher, buffer: bytearray) -> int:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        view = memoryview(buffer)
        total = 0
        while not self._over and (read := os.readv(handle, (buffer,))):
            hasher.update(view[:read])
            total += read
            self._report(read)
        return total

    @property
    def _over(self) -> bool:
        return self.halt.is_set() or self.stop.is_set()

    def _report(self, count: int) -> None:
        if self.progress and count:
            with self.reporting:
                self.progress(count)

    def _expected_size(self, job: HashJob) -> int:
        if job.size is not None:
            return job.size
        try:
            return os.stat(job.path, dir_fd=self.handle).st_size
        except OSError:
            return 0

    def _name(self, job: HashJob) -> str:
        return str(self.root / job.path) if self.root else job.path


def _open_root(root: Path) -> int:
    try:
        return os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _explained(error, str(root)) from error


def _explained(error: OSError, name: str) -> GsmError:
    if error.errno == errno.ENOENT:
        return GsmError(Reason.NOT_FOUND, f"{name} does not exist")
    if error.errno == errno.ELOOP:
        return GsmError(Reason.INVALID_INPUT, f"{name} is a symbolic link, and links are not followed here")
    if error.errno == errno.ENOTDIR:
        return GsmError(Reason.NOT_FOUND, f"{name} does not exist: a folder of its path is not a folder")
    return GsmError(Reason.STORAGE_FAILED, f"{name} cannot be read: {os.strerror(error.errno or errno.EIO)}")
