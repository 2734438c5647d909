"""Owns reading a store: what is published, what is known of it, who writes to it. Takes no lock, changes nothing.

Refuses to guess: what it cannot read is an error, never an empty answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import locking
from gpustack_models.store.blobs import Blobs
from gpustack_models.store.capacity import Usage
from gpustack_models.store.clock import Clock, SystemClock
from gpustack_models.store.handles import storing
from gpustack_models.store.layout import Root
from gpustack_models.store.ledger import Ledger
from gpustack_models.store.pending import Pending
from gpustack_models.store.trees import Tree, Trees


class Store:
    """A store as any number of processes may read it, while one writes to it."""

    def __init__(self, root: Root, clock: Clock) -> None:
        self.root = root
        self.clock = clock
        self.blobs = Blobs(root)
        self.trees = Trees(root)
        self.pending = Pending(root)
        self.ledger = Ledger(root)

    @classmethod
    def open(cls, path: Path, clock: Clock | None = None) -> Self:
        """Open a store for reading. Raises GsmError(NotFound, UnknownFormat, StorageFailed)."""
        return cls(Root.open(path), clock or SystemClock())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give the handles back."""
        self.root.close()

    def lookup(self, digest: str) -> Tree | None:
        """A published tree, or None. Flat in the number of trees. Raises GsmError(StorageFailed)."""
        with storing(f"{digest} cannot be looked up"):
            return self.trees.lookup(digest)

    def known(self) -> set[str]:
        """Every digest that the store has anything of: a tree, a manifest under way, a record."""
        with storing("the store cannot be listed"):
            found = set(self.trees.digests()) | {manifest.digest for manifest in self.pending.all()}
            return found | self.ledger.digests()

    def digest(self, prefix: str, *, published: bool = False) -> str:
        """The one known digest that begins with `prefix` (with or without `sha256:`).

        Raises GsmError(NotFound) for none (saying when it is known and not `published`), InvalidInput for several.
        """
        with storing("the store cannot be listed"):
            known = self.known()
            visible = set(self.trees.digests()) if published else known
        if published and not any(digest.startswith(_written_out(prefix)) for digest in visible):
            full = match(prefix, known)
            raise GsmError(
                Reason.NOT_FOUND,
                f"{full} is not published: an unfinished pull, or a tree that was found broken",
                hint="gsm node-store ls says how it stands; a pull, or verify --repair, completes it",
            )
        return match(prefix, visible)

    def usage(self) -> Usage:
        """The filesystem's size and use, in bytes."""
        with storing("the filesystem cannot be asked for its size"):
            numbers = os.fstatvfs(self.root.top.fd)
        return Usage.of(numbers.f_blocks, numbers.f_bavail, numbers.f_frsize)

    def holder(self) -> locking.Holder | None:
        """Who writes to the store now, or None."""
        with storing("the store's lock cannot be looked at"):
            if not locking.held(self.root.top):
                return None
        return locking.holder(self.root.top) or locking.Holder(0, 0.0, "another process")


def match(prefix: str, digests: Iterable[str]) -> str:
    """The one digest that begins with a prefix. Raises GsmError(NotFound, InvalidInput)."""
    wanted = _written_out(prefix)
    if not prefix.removeprefix("sha256:"):
        raise GsmError(Reason.INVALID_INPUT, f"{prefix!r} is no part of a digest", hint="gsm node-store ls lists them")
    found = sorted(digest for digest in digests if digest.startswith(wanted))
    if not found:
        raise GsmError(Reason.NOT_FOUND, f"the store holds nothing by {prefix}", hint="gsm node-store ls lists it")
    if len(found) > 1:
        raise GsmError(
            Reason.INVALID_INPUT,
            f"{prefix} is the beginning of {len(found)} digests: {', '.join(found[:3])}{', …' if found[3:] else ''}",
            hint="give more of it",
        )
    return found[0]


def _written_out(prefix: str) -> str:
    return prefix if prefix.startswith("sha256:") else f"sha256:{prefix}"
