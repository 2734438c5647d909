"""Owns adopting files that are on this disk already: taken in, every byte hashed, then blobs like any other.

Refuses to keep a file that is not what its manifest names, and to change a source that it did not keep.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gpustack_models.core.manifest import Algorithm, Entry, FileDigest, Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import adopting
from gpustack_models.store.adopting import How, Taken
from gpustack_models.store.blobs import Verified
from gpustack_models.store.handles import TEMPORARY, storing
from gpustack_models.store.hashing import BOTH, Hashed, HashJob, hash_files
from gpustack_models.store.writer import Writer

#: Hubs keep larger files in LFS, named by sha256 alone; for smaller ones the second digest lets another hub find them.
BOTH_UP_TO = 10 << 20
#: An open file and a lease per file of a batch.
_BATCH = 128


@dataclass(frozen=True, slots=True)
class Offered:
    """Where a file of the manifest lies, relative to the imported folder."""

    entry: Entry
    source: str


@dataclass
class Imported:
    """What came of an import: how each file came in, the bytes of each way, and what is wrong with the others."""

    files: Counter[How] = field(default_factory=Counter)
    bytes: Counter[How] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def count(self, how: How, size: int) -> None:
        """One more file came in."""
        self.files[how] += 1
        self.bytes[how] += size

    @property
    def complete(self) -> bool:
        """Whether every file of the manifest is held now."""
        return not self.missing and not self.wrong


@dataclass(frozen=True, slots=True)
class Options:
    """How to import: `copy` leaves every source independent; `progress` gets the bytes hashed since its last call."""

    copy: bool = False
    threads: int | None = None
    progress: Callable[[int], None] | None = None
    stop: threading.Event | None = None


def import_files(
    writer: Writer, folder: Path, manifest: Manifest, sources: Mapping[str, str], options: Options
) -> Imported:
    """Adopt the files of a manifest; `sources` has the place below `folder` of each path that is there.

    What verifies is kept even when another file does not, so that a pull fetches the rest only. Between the writer's
    `begin` and `end`. Raises GsmError(StorageFailed, InsufficientCapacity, Canceled).
    """
    result = Imported()
    wanted: dict[FileDigest, Offered] = {}
    with storing(f"{folder} cannot be imported"):
        for entry in manifest.entries:
            if _held(writer, entry):
                result.count(How.HELD, entry.size)
            elif entry.path in sources:
                wanted.setdefault(entry.digest, Offered(entry, sources[entry.path]))
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for batch in _batches(list(wanted.values())):
                _Batch(writer, handle, options, result).adopt(batch)
        finally:
            os.close(handle)
        for entry in manifest.entries:
            if not _held(writer, entry):
                (result.wrong if entry.path in sources else result.missing).append(entry.path)
    return result


def problem_of(result: Imported, digest: str) -> GsmError | None:
    """Why an import is not complete, or None."""
    if result.complete:
        return None
    wrong = [f"{len(result.wrong)} differ ({result.wrong[0]!r} first)"] if result.wrong else []
    missing = [f"{len(result.missing)} are not there ({result.missing[0]!r} first)"] if result.missing else []
    kept = sum(result.files.values())
    return GsmError(
        Reason.INTEGRITY_MISMATCH if result.wrong else Reason.NOT_FOUND,
        f"{digest}: of its files {', '.join(wrong + missing)}; {kept} are kept",
        hint="gsm node-store pull fetches what is missing, and no more",
    )


class _Batch:
    """Some files on their way in together: taken, hashed in parallel, then kept or given back."""

    def __init__(self, writer: Writer, folder: int, options: Options, result: Imported) -> None:
        self._writer = writer
        self._folder = folder
        self._options = options
        self._result = result

    def adopt(self, files: Sequence[Offered]) -> None:
        taken: list[tuple[Offered, Taken]] = []
        try:
            for file in files:
                with suppress(FileNotFoundError):
                    taken.append((file, self._take(file, copy=self._options.copy)))
            answers = dict(zip((one.name for _, one in taken), self._hash(taken), strict=True))
            settled = [(file, one) for file, one in taken if one.settled()]
            unsettled = [file for file, one in taken if (file, one) not in settled]
            kept = [(file, one) for file, one in settled if file.entry.digest in answers[one.name].digests]
            self._writer.adopt(
                [Verified(one.name, one.size, answers[one.name].digests, synced=False) for _, one in kept]
            )
            for file, one in kept:
                self._result.count(one.how, file.entry.size)
                taken.remove((file, one))
                one.keep()
        finally:
            for _, one in taken:
                one.give_back(self._writer.root.partial)
        if unsettled:  # somebody writes to these: what they are now is copied, and the copy judged
            _Batch(self._writer, self._folder, _copying(self._options), self._result).adopt(unsettled)

    def _take(self, file: Offered, *, copy: bool) -> Taken:
        name = f"{TEMPORARY}import-{next(_COUNTER)}"
        return adopting.take(self._folder, file.source, self._writer.root.partial, name, copy=copy)

    def _hash(self, taken: Sequence[tuple[Offered, Taken]]) -> list[Hashed]:
        jobs = [HashJob(one.name, _algorithms(file.entry), file.entry.size) for file, one in taken]
        return hash_files(
            jobs,
            self._writer.root.partial.fd,
            threads=self._options.threads,
            progress=self._options.progress,
            stop=self._options.stop,
            keep_going=True,
        )


_COUNTER = itertools.count()


def _copying(options: Options) -> Options:
    return Options(True, options.threads, options.progress, options.stop)


def _algorithms(entry: Entry) -> tuple[Algorithm, ...]:
    return BOTH if entry.size <= BOTH_UP_TO else (entry.digest.algorithm,)


def _held(writer: Writer, entry: Entry) -> bool:
    found = writer.blobs.find(entry.digest)
    return found is not None and found.size == entry.size


def _batches(files: list[Offered]) -> Iterator[list[Offered]]:
    for start in range(0, len(files), _BATCH):
        yield files[start : start + _BATCH]
