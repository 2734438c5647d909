"""Owns the folder of repositories: which there are, and each one read into a value when it is first asked for.

Refuses writing, serving anything outside the folder, and hashing the same bytes twice.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import dataclass, replace
from pathlib import Path

from gpustack_models.errors import GsmError, Reason
from gpustack_models.hub_server.commits import HashCache, build, needs
from gpustack_models.hub_server.look import Look, inside, is_repository, listed, look_at, settings_of
from gpustack_models.hub_server.repository import Repository, Settings
from gpustack_models.hub_server.wire import FileKey

#: Called while files are hashed: the repository's name, the bytes hashed so far, the bytes there are.
Progress = Callable[[str, int, int], None]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}")
#: How old a look at the disk may be, in seconds, and as a multiple of what the look itself cost.
_FRESH_SECONDS = 1.0
_FRESH_FACTOR = 20
#: A file's time moves in steps of some milliseconds: one written this shortly before the look is hashed again at the
#: next, since a second write in the same step would show in nothing else.
_SETTLED_NS = 100_000_000

log = logging.getLogger("gpustack_models.hub_server")


@dataclass(frozen=True)
class _Loaded:
    look: Look
    repository: Repository
    unsettled: frozenset[FileKey]
    fresh_until: float


class Catalog:
    """The repositories below one folder. Thread-safe; `close` ends what is still being hashed."""

    def __init__(
        self,
        folder: Path,
        *,
        patience: float,
        progress: Progress | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], int] = time.time_ns,
    ) -> None:
        # Absolute, so that it stays the same folder when the process moves to another.
        self.folder = folder.absolute()
        self.patience = patience
        self._clock = clock
        self._wall_clock = wall_clock
        self._progress = progress
        self._hashes = HashCache()
        self._loaded: dict[str, _Loaded] = {}
        self._running: dict[str, tuple[int, Future[Repository]]] = {}
        self._generation = 0
        self._hashed: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(4, "hub-load")

    def names(self) -> list[str]:
        """Every repository's name, sorted; nothing is hashed."""
        found = []
        for owner in self._folders(self.folder):
            if is_repository(owner):
                found.append(owner.name)
            else:
                found += [f"{owner.name}/{folder.name}" for folder in self._folders(owner)]
        return sorted(found)

    def settings(self, name: str) -> Settings | None:
        """Who may read a repository, or None when there is none of that name; nothing is hashed."""
        folder = self._folder_of(name)
        if folder is None:
            return None
        settings = settings_of(folder)
        return Settings(settings.access, frozenset(settings.readers))

    def repository(self, name: str) -> Repository:
        """A repository as it is on disk now (a look may be a second old).

        Raises GsmError: NotFound; SourceUnavailable with `retry_after` while its files are still being hashed;
        InvalidInput or StorageFailed when it cannot be read.
        """
        asked = self._generation
        while True:
            with self._lock:
                loaded = self._loaded.get(name)
                if loaded and self._clock() < loaded.fresh_until:
                    return loaded.repository
                begun, future = self._begin(name)
            try:
                repository = future.result(self.patience)
            except StillRunning:
                raise self._busy(name) from None
            # A look that began before a change was announced may have missed it.
            if begun >= asked:
                return repository

    def _begin(self, name: str) -> tuple[int, Future[Repository]]:
        if name not in self._running:
            self._running[name] = (self._generation, self._pool.submit(self._load, name, self._generation))
        return self._running[name]

    def _busy(self, name: str) -> GsmError:
        done, total = self._hashed.get(name, (0, 0))
        return GsmError(
            Reason.SOURCE_UNAVAILABLE,
            f"{name} is being hashed: {done * 100 // max(total, 1)} % of {total} bytes",
            hint="ask again; the local hub hashes a file once",
            retry_after=2,
        )

    def warm(self) -> None:
        """Begin to hash every repository, in the background."""
        for name in self.names():
            with self._lock:
                if name not in self._loaded:
                    self._begin(name)

    def rescan(self) -> None:
        """Look at the disk again at the next request, however young the last look is."""
        with self._lock:
            self._generation += 1
            self._loaded = {name: replace(loaded, fresh_until=0) for name, loaded in self._loaded.items()}

    def close(self) -> None:
        """End what is still being hashed."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _load(self, name: str, generation: int) -> Repository:
        try:
            folder = self._folder_of(name)
            if folder is None:
                raise GsmError(Reason.NOT_FOUND, f"repository {name} does not exist")
            begun, moment = self._clock(), self._wall_clock()
            look = look_at(folder)
            now = self._clock()
            fresh_until = now + max(_FRESH_SECONDS, _FRESH_FACTOR * (now - begun))
            loaded = self._loaded.get(name)
            if loaded:
                self._hashes.forget(loaded.unsettled)
            known = loaded is not None and loaded.look == look and not loaded.unsettled
            repository = loaded.repository if loaded and known else self._build(name, look)
            unsettled = frozenset(key for key in look.files() if abs(key.mtime_ns - moment) < _SETTLED_NS)
            with self._lock:
                current = generation == self._generation
                self._loaded[name] = _Loaded(look, repository, unsettled, fresh_until if current else 0)
            return repository
        finally:
            with self._lock:
                self._running.pop(name, None)

    def _build(self, name: str, look: Look) -> Repository:
        for folder, found in look.folders.items():
            for path, why in found.skipped.items():
                log.warning("%s: %s is not served: %s", name, f"{folder}/{path}".lstrip("./"), why)
        missing = self._hashes.missing(needs(look.folders))
        total, done = sum(key.size for key in missing), 0

        def report(count: int) -> None:
            nonlocal done
            done += count
            self._hashed[name] = (done, total)
            if self._progress:
                self._progress(name, done, total)

        self._hashes.add(missing, report, self._stop)
        return build(name, look.settings, look.folders, self._hashes)

    def _folder_of(self, name: str) -> Path | None:
        parts = name.split("/")
        if len(parts) > 2 or not all(_NAME.fullmatch(part) and not part.endswith(".git") for part in parts):
            return None
        folder = self.folder.joinpath(*parts)
        if not folder.is_dir() or not inside(folder, self.folder):
            return None
        if len(parts) == 1:
            return folder if is_repository(folder) else None
        return None if is_repository(folder.parent) else folder

    def _folders(self, folder: Path) -> list[Path]:
        names = [entry.name for entry in listed(folder) if entry.is_dir() and _NAME.fullmatch(entry.name)]
        return [folder / name for name in sorted(names) if inside(folder / name, self.folder)]
