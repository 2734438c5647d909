"""Owns copying a published tree out: every byte hashed on its way, the folder there at once or not at all.

Refuses a target that holds anything, and hard links: what leaves the store must not be able to change it.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpustack_models.core.manifest import Entry
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import copying
from gpustack_models.store.handles import Dir, storing, sync_filesystem
from gpustack_models.store.hashing import Hasher, available_cores
from gpustack_models.store.store import Store
from gpustack_models.store.trees import Tree


def export(
    store: Store,
    tree: Tree,
    target: Path,
    *,
    progress: Callable[[int], None] | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Write the files of a tree to a folder that is not there, or empty.

    Raises GsmError(InvalidInput) for any other target, IntegrityMismatch for a broken file (then nothing is left),
    NotFound when the tree was removed meanwhile, StorageFailed, InsufficientCapacity, Canceled.
    """
    target = target.absolute()
    with storing(f"{target} cannot be written"):
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise GsmError(Reason.INVALID_INPUT, f"{target} is there and not empty", hint="name a new folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = target.with_name(f".{target.name[:200]}.{os.getpid()}.partial")
        try:
            staging.mkdir()
            with store.trees.files(tree.digest) as files:
                _Copy(files, staging, progress, stop or threading.Event()).all(tree.manifest.entries)
            with Dir.at(str(staging)) as folder:
                sync_filesystem(folder)
            staging.rename(target)
        except FileNotFoundError as error:
            raise GsmError(Reason.NOT_FOUND, f"{tree.digest} was removed meanwhile", hint="pull it again") from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)


class _Copy:
    """The files of one export, on about one thread per core."""

    def __init__(
        self, files: Dir, staging: Path, progress: Callable[[int], None] | None, stop: threading.Event
    ) -> None:
        self._files = files
        self._staging = staging
        self._progress = progress
        self._stop = stop
        self._reporting = threading.Lock()

    def all(self, entries: tuple[Entry, ...]) -> None:
        for folder in {(self._staging / entry.path).parent for entry in entries}:
            folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(available_cores(), "export") as pool:
            futures = [pool.submit(self._one, entry) for entry in entries]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                for future in futures:
                    future.cancel()
                raise

    def _one(self, entry: Entry) -> None:
        if self._stop.is_set():
            raise GsmError(Reason.CANCELED, "the export was canceled")
        *folders, name = entry.path.split("/")
        with self._files.descend(folders) as folder:
            source = folder.open(name)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            target = os.open(self._staging / entry.path, flags, 0o644)
            try:
                hasher = Hasher((entry.digest.algorithm,), entry.size)
                copying.copy(source, target, hasher)
            finally:
                os.close(target)
        finally:
            os.close(source)
        if hasher.digests() != (entry.digest,):
            raise GsmError(
                Reason.INTEGRITY_MISMATCH,
                f"{entry.path!r} is broken on disk: its bytes are not {entry.digest}'s",
                hint="gsm node-store verify --repair fetches it again",
            )
        if self._progress:
            with self._reporting:
                self._progress(entry.size)
