"""Owns the disk's side of an attempt: checkpoints written behind the receivers, whole files synced and handed over.

Refuses to hold a receiver up: what waits for the disk waits in threads of its own.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from gpustack_models.core.manifest import FileDigest
from gpustack_models.store.handles import storage_error
from gpustack_models.store.sources import Fetched
from gpustack_models.store.transfer.checkpoint import INTERVAL
from gpustack_models.store.transfer.content import Content

#: From here on a file is synced by itself; smaller ones are left to whoever gives them a name, many at once.
SYNC_ALONE = 8 << 20
_THREADS = 2
#: Small files are handed over so many at once: waking another thread for each would cost more than the file.
_BATCH = 128


class Finisher:
    """Writes checkpoints and hands whole files over, in threads of its own; failures go to `failed`."""

    def __init__(self, on_file: Callable[[Fetched], None], failed: Callable[[BaseException], None]) -> None:
        self._on_file = on_file
        self._failed = failed
        self._handing = threading.Lock()
        self._lock = threading.Lock()
        self._small: deque[tuple[Fetched, Callable[[], None]]] = deque()
        self._draining = False
        self._threads: ThreadPoolExecutor | None = None

    def save(self, content: Content, position: int, hexadecimal: str) -> None:
        """Begin to write a checkpoint; the next one is due an interval later."""
        content.saving = True
        content.partial.last_checkpoint = position
        self._submit(lambda: self._save(content, position, hexadecimal))

    def hand_over(self, content: Content, digests: tuple[FileDigest, ...], done: Callable[[], None]) -> None:
        """Begin to sync a whole file and to hand it over; `done` follows."""
        self._submit(lambda: self._finish(content, digests, done))

    def hand_small(self, fetched: Fetched, done: Callable[[], None]) -> None:
        """Hand a file over that needs no wait, with the next batch; `done` follows."""
        with self._lock:
            self._small.append((fetched, done))
            enough = len(self._small) >= _BATCH
        if enough:
            self.flush()

    def flush(self) -> None:
        """Begin to hand over what is there, however little."""
        with self._lock:
            if self._draining or not self._small:
                return
            self._draining = True
        self._submit(self._drain)

    def close(self) -> None:
        """Hand over what is there, and wait for what was begun."""
        self.flush()
        if self._threads is not None:
            self._threads.shutdown()

    def _submit(self, work: Callable[[], None]) -> None:
        with self._lock:
            self._threads = self._threads or ThreadPoolExecutor(_THREADS, "finish")
        self._threads.submit(work).add_done_callback(self._ended)

    def _ended(self, future: Future[None]) -> None:
        if error := future.exception():
            self._failed(error)

    def _drain(self) -> None:
        while True:
            with self._lock:
                if not self._small:
                    self._draining = False
                    return
                fetched, done = self._small.popleft()
            self._give(fetched)
            done()

    def _give(self, fetched: Fetched) -> None:
        with self._handing:
            self._on_file(fetched)

    def _save(self, content: Content, position: int, hexadecimal: str) -> None:
        try:
            content.partial.checkpoint(position, hexadecimal)
        except OSError as error:
            raise storage_error(error, f"{content.todo.want.path}: its checkpoint cannot be written") from error
        finally:
            content.saving = False

    def _finish(self, content: Content, digests: tuple[FileDigest, ...], done: Callable[[], None]) -> None:
        want, partial = content.todo.want, content.partial
        synced = want.size >= SYNC_ALONE
        try:
            if want.size >= INTERVAL:
                # The last checkpoint: a crash before the file has its name costs hashing, and no download.
                partial.checkpoint(want.size, want.digest.hex)
            elif synced:
                partial.sync()
        except OSError as error:
            raise storage_error(error, f"{want.path} cannot be written") from error
        self._give(Fetched(want, partial.path, digests, content.origin, synced))
        partial.forget_checkpoints()
        partial.close()
        done()
