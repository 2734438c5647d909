"""Owns the one long-lived object of the data plane: its connections, its shared limits, and fetching by attempts.

Refuses to be made anew for each attempt: the limits hold over all of them.
"""

from __future__ import annotations

import random
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gpustack_models.core.network import HttpOptions
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.handles import Dir, storing
from gpustack_models.store.sources import Fetched, Limits, Source, TransferProgress, TransferReport, Want
from gpustack_models.store.transfer.agenda import Agenda
from gpustack_models.store.transfer.attempt import Attempt, Shared
from gpustack_models.store.transfer.connection import Dialer
from gpustack_models.store.transfer.gate import Gate
from gpustack_models.store.transfer.patience import Retry
from gpustack_models.store.transfer.supply import Supply


class Transfer:
    """Fetches files for one store, for as many attempts at once as ask. Its methods may be called from any thread.

    `options` say how hosts are reached and `trust` makes the TLS context when one is needed; `clock` gives monotonic
    seconds, `wall` those since the epoch, `chance` a random number in [0, 1).
    """

    def __init__(
        self,
        limits: Limits | None = None,
        options: HttpOptions | None = None,
        *,
        trust: Callable[[], ssl.SSLContext] = ssl.create_default_context,
        retry: Retry | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        limits = limits or Limits()
        concurrency = max(1, limits.concurrency)
        self._retry = retry or Retry()
        self._chance = chance
        dialer = Dialer(options or HttpOptions(), trust, connections=concurrency, read_timeout=limits.stall_seconds)
        self._shared = Shared(dialer, Gate(limits, clock), clock, wall, concurrency, limits.stall_seconds)

    def fetch(
        self,
        wants: Sequence[Want],
        partial: Path,
        sources: Sequence[Source],
        *,
        on_file: Callable[[Fetched], None],
        progress: TransferProgress | None = None,
        stop: threading.Event | None = None,
    ) -> TransferReport:
        """Fetch files into `partial`, and call `on_file` with each that is verified, from one thread at a time.

        Sources are tried in order. What an earlier attempt left is checked and kept. Wants of one digest are one file.
        A file below 8 MiB is handed over before it is durable (`Fetched.synced`); a larger one is synced.

        Raises GsmError: IntegrityMismatch for a hub's wrong bytes, AccessDenied and SourceUnavailable when no source is
        left, InsufficientCapacity for a full disk, StorageFailed, InvalidRequest, Canceled once `stop` is set. What
        was handed over before stays; a file under way keeps what is verified (node-store.md, "An attempt").
        """
        distinct = {want.digest: want for want in reversed(wants)}
        if not distinct:
            return TransferReport({}, 0, ())
        with storing(f"{partial} cannot be opened"):
            folder = Dir.at(str(partial))
        try:
            supply = Supply(sources, self._retry, self._shared.gate, self._chance)
            agenda = Agenda(tuple(distinct.values()), supply, self._shared.clock)
            attempt = Attempt(self._shared, folder, agenda, supply, on_file, progress)
            return attempt.run(stop or threading.Event())
        except GsmError as error:
            if error.reason is Reason.INVALID_INPUT:
                raise GsmError(Reason.INVALID_REQUEST, error.message, hint=error.hint) from error
            raise
        finally:
            folder.close()

    def close(self) -> None:
        """Close the connections that wait for a next request."""
        self._shared.dialer.close()
