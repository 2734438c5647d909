"""Owns how a command gets at the store: as a reader at once, as the writer when the one before it is done.

Refuses to wait for a writer that is there to stay, and to wait without saying for what, and since when.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from gpustack_models.cli.node_store.common import brief, lasting, local
from gpustack_models.cli.output import Output
from gpustack_models.store import locking
from gpustack_models.store.locking import Holder
from gpustack_models.store.models import running
from gpustack_models.store.progress import Download
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Identity, Writer

_POLL_SECONDS = 0.25
_TELL_SECONDS = 15.0


def write(out: Output, root: Path, command: str) -> Writer:
    """Become the writer of a store, after the one that is.

    Raises GsmError(StoreLocked) for a writer that is there to stay, and what opening a store raises.
    """
    while True:
        if writer := write_unless(out, root, command, lambda _store: False):
            return writer


def write_unless(out: Output, root: Path, command: str, needless: Callable[[Store], bool]) -> Writer | None:
    """Become the writer as `write` does; None once `needless`, asked while another one writes, says so."""
    identity = Identity(command)
    waiting = _Waiting(out, root)
    while True:
        if writer := Writer.attempt(root, identity):
            return writer
        with Store.open(root) as store:
            if needless(store):
                return None
            holder = store.holder()
            if holder and holder.lasting:
                raise locking.locked_error(str(root), holder)
            if holder:
                waiting.tell(holder, running(store, holder))
        time.sleep(_POLL_SECONDS)


class _Waiting:
    """Says what is waited for: at once, when that changes, and now and then how far it is."""

    def __init__(self, out: Output, root: Path) -> None:
        self._out = out
        self._root = root
        self._told: tuple[object, ...] = ()
        self._at = 0.0

    def tell(self, holder: Holder, downloads: list[Download]) -> None:
        about = (holder.pid, holder.since, *(download.digest for download in downloads))
        now = time.monotonic()
        if about == self._told and now - self._at < _TELL_SECONDS:
            return
        self._told, self._at = about, now
        since = f", since {local(holder.since)}" if holder.since else ""
        self._out.note(f"waiting for {holder}, which writes to {self._root}{since}")
        for download in downloads:
            self._out.note(f"  {told(download)}")


def told(download: Download) -> str:
    """A running download as a person reads it."""
    name = download.name or download.digest
    if not download.size:
        return f"{name}: {download.phase.lower()}"
    text = f"{name}: {brief(download.downloaded)} of {brief(download.size)}"
    left = download.seconds_left
    return text if left is None else f"{text}, {brief(download.rate)}/s, {lasting(left)} left"
