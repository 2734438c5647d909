"""Owns changing a store: references, pins, uses, adopted blobs, published trees, and the lock on it.

Refuses a second writer, and to reference what is not published.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from gpustack_models.core.manifest import Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import history, layout, locking, recovery, references
from gpustack_models.store.blobs import Verified
from gpustack_models.store.clock import Clock, Instant, SystemClock, age
from gpustack_models.store.facts import Snapshot
from gpustack_models.store.handles import storing
from gpustack_models.store.layout import Root
from gpustack_models.store.locking import Holder, WriterLock
from gpustack_models.store.records import MAX_NAMES, Failure, Pin, Reference, Use
from gpustack_models.store.references import Mounted, Reconciled
from gpustack_models.store.scan import Scanner
from gpustack_models.store.store import Store
from gpustack_models.store.trees import Tree

#: A use that was recorded this recently is not recorded again: a mount must not cost a write to the disk.
USE_SECONDS = 60
#: A reader looks at the lock by taking it for an instant; a writer tries for longer than that before it says "locked".
_PATIENCE_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Identity:
    """What a writer says of itself to whoever waits for it: its command, and whether it is there to stay."""

    command: str
    lasting: bool = False


class Writer(Store):
    """The one process that may change a store. Its methods may be called from any thread."""

    def __init__(self, root: Root, clock: Clock, lock: WriterLock) -> None:
        super().__init__(root, clock)
        #: Held by whoever records a reference and by whoever removes, so that neither overtakes the other.
        self.guard = threading.RLock()
        #: Changes with everything that could turn a planned removal wrong.
        self.generation = 0
        self._lock = lock
        self._scanner = Scanner(self)
        self._running: dict[str, Manifest | None] = {}
        self._uses: dict[str, Instant] = {}
        self._names = itertools.count()
        self._abandoned = False

    @classmethod
    def attempt(cls, path: Path, identity: Identity, clock: Clock | None = None) -> Self | None:
        """Become the writer, or None while another process is. Makes the store when there is none, and cleans up after
        a writer that died. Raises GsmError(UnknownFormat, StorageFailed, InsufficientCapacity).
        """
        clock = clock or SystemClock()
        with storing(f"the store {path} cannot be written to"):
            layout.create(path)
            root = Root.open(path)
            try:
                lock = _acquire(root, Holder(os.getpid(), clock.now().wall, identity.command[:100], identity.lasting))
                if lock is None:
                    root.close()
                    return None
                recovery.recover(root)
            except BaseException:
                root.close()
                raise
        return cls(root, clock, lock)

    @classmethod
    def start(cls, path: Path, identity: Identity, clock: Clock | None = None) -> Self:
        """Become the writer. Raises GsmError(StoreLocked) naming who is, and as `attempt` does."""
        if writer := cls.attempt(path, identity, clock):
            return writer
        with Store.open(path) as store:
            raise locking.locked_error(str(path), store.holder())

    def close(self) -> None:
        """Let the next writer in."""
        if not self._abandoned:
            self._lock.release()
            super().close()

    def abandon(self) -> None:
        """Threads are at work that did not end: keep the lock and the handles until this process is gone."""
        self._abandoned = True

    def reference(self, reference: Reference) -> Tree:
        """Record a consumer of a published tree; durable when this returns, so mount after it.

        Raises GsmError(NotFound) when the digest is not published, StorageFailed or InsufficientCapacity when the
        reference cannot be written: then nothing may be mounted.
        """
        with self.guard, storing(f"a reference to {reference.digest} cannot be recorded"):
            tree = self.trees.lookup(reference.digest)
            if tree is None:
                raise GsmError(Reason.NOT_FOUND, f"{reference.digest} is not published here")
            self.ledger.put(reference)
            self._use(reference.digest)
            self._changed()
            return tree

    def release(self, target: str) -> Reference | None:
        """Forget the consumer at a target path; from now on its tree is unreferenced. None when there was none."""
        with self.guard, storing(f"the reference of {target} cannot be dropped"):
            reference = self.ledger.reference(target)
            if reference:
                self._use(reference.digest, at_once=True)
                self.ledger.drop(reference)
                self._changed()
            return reference

    def reconcile(self, mounted: Iterable[Mounted]) -> Reconciled:
        """Make the references what is mounted, as a start does before anything is collected."""
        with self.guard, storing("the references cannot be reconciled"):
            found = references.reconcile(self.ledger.all(Reference), mounted, self.clock.now())
            for reference in found.adopted:
                self.ledger.put(reference)
            for reference in found.dropped:
                self._use(reference.digest, at_once=True)
                self.ledger.drop(reference)
            self._changed()
            return found

    def pin(self, digest: str, note: str = "") -> Pin:
        """Keep a digest from every collection, published or not yet; pinned again, a note that is not given stays."""
        with self.guard, storing(f"{digest} cannot be pinned"):
            before = self.ledger.get(Pin, digest)
            pin = Pin(digest, self.clock.now(), note or (before.note if before else ""))
            self.ledger.put(pin)
            self._changed()
        self.log("pinned", digest, note=pin.note)
        return pin

    def unpin(self, digest: str) -> bool:
        """Let collections remove a digest again. False when it was not pinned."""
        with self.guard, storing(f"{digest} cannot be unpinned"):
            pin = self.ledger.get(Pin, digest)
            if pin is None:
                return False
            self._use(digest, at_once=True)
            self.ledger.drop(pin)
            self._changed()
        self.log("unpinned", digest)
        return True

    def touch(self, digest: str, names: Sequence[str] = ()) -> None:
        """Remember that a published digest was asked for now, and what it was called."""
        with self.guard, storing(f"the use of {digest} cannot be recorded"):
            self._use(digest, names=names)

    def begin(self, digest: str, manifest: Manifest | None = None) -> None:
        """Protect what an attempt has and will have, until `end`."""
        with self.guard:
            self._running[digest] = manifest
            self._changed()

    def end(self, digest: str) -> None:
        """The attempt at a digest is over."""
        with self.guard:
            self._running.pop(digest, None)
            self._changed()

    def adopt(self, files: Sequence[Verified]) -> None:
        """Turn verified files of `partial/` into blobs. Raises GsmError(StorageFailed, InsufficientCapacity)."""
        with storing("verified files cannot be kept"):
            self.blobs.adopt(files)

    def publish(self, manifest: Manifest, number: int = 0, source: str = "", names: Sequence[str] = ()) -> Tree:
        """Make a tree visible in one rename, every file of it held as a blob. Between `begin` and `end`.

        Raises GsmError(StorageFailed, InsufficientCapacity); then nothing became visible.
        """
        digest = manifest.digest
        with storing(f"{digest} cannot be published"):
            try:
                staged = self.trees.stage(manifest, self.blobs, number)
                with self.guard:
                    now = self.clock.now()
                    self._uses[digest] = now
                    self.ledger.put(self._published(digest, now, source, names))
                    # A folder there that is no tree may be mounted all the same: it goes when nobody references it.
                    self.trees.publish(staged, digest, self.trash_name(layout.tree_name(digest) + layout.WITHDRAWN))
                    self._changed()
            except FileNotFoundError as error:
                raise GsmError(
                    Reason.STORAGE_FAILED,
                    f"{digest} cannot be published: a verified file vanished from the store",
                    hint="pull it again",
                ) from error
        with suppress(OSError):  # it is published; what a full or read-only disk keeps now is cleaned up later
            self.pending.drop(digest)
            self.ledger.forget(Failure, digest)
        tree = self.lookup(digest)
        assert tree is not None  # noqa: S101 - it was renamed into place under the guard
        return tree

    def snapshot(self) -> Snapshot:
        """The store now, with the attempts that run in this process."""
        with self.guard:
            running, uses, generation = dict(self._running), dict(self._uses), self.generation
        return self._scanner.snapshot(running, uses, generation)

    def trash_name(self, name: str) -> str:
        """A name in `trash/` that nothing has."""
        while True:
            free = f"{name[:200]}.{os.getpid()}-{next(self._names)}"
            if self.root.trash.stat(free) is None:
                return free

    def log(self, event: str, digest: str = "", **details: Any) -> None:
        """Tell the history what happened."""
        history.append(self.root.ledger, history.Event(self.clock.now().wall, event, digest, details))

    def _use(self, digest: str, names: Sequence[str] = (), *, at_once: bool = False) -> None:
        now = self.clock.now()
        last, self._uses[digest] = self._uses.get(digest), now
        # Remembered in memory: a full disk must not keep a Pod from being unmounted, and what cannot be read is left.
        with suppress(OSError, GsmError):
            use = self.ledger.get(Use, digest)
            known = use.names if use else ()
            added = tuple(name for name in names if name not in known)
            recent = last or (use and use.last)
            if use and recent and not added and not at_once and age(recent, now) < USE_SECONDS:
                return
            published = use.published if use else now
            self.ledger.put(Use(digest, now, published, use.source if use else "", (*known, *added)[-MAX_NAMES:]))
        self._changed()

    def _published(self, digest: str, now: Instant, source: str, names: Sequence[str]) -> Use:
        # A tree that comes back keeps what it was called: that is where a repair fetches from.
        before = None
        with suppress(GsmError):
            before = self.ledger.get(Use, digest)
        known = tuple(dict.fromkeys((*(before.names if before else ()), *names)))
        return Use(digest, now, now, source or (before.source if before else ""), known[-MAX_NAMES:])

    def _changed(self) -> None:
        self.generation += 1


def _acquire(root: Root, holder: Holder) -> WriterLock | None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        lock = locking.acquire(root.top, holder)
        if lock or time.monotonic() > until:
            return lock
        time.sleep(0.02)
