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
from typing import TYPE_CHECKING

from gpustack_models.core.network import HttpOptions
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.handles import Dir, storing
from gpustack_models.store.sources import Fetched, Limits, Source, TransferProgress, TransferReport, Want
from gpustack_models.store.transfer.gate import Gate
from gpustack_models.store.transfer.patience import Retry

if TYPE_CHECKING:
    from gpustack_models.store.transfer.attempt import Shared


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
        self._limits = limits or Limits()
        self._options = options or HttpOptions()
        self._trust = trust
        self._retry = retry or Retry()
        self._clock = clock
        self._wall = wall
        self._chance = chance
        self._gate = Gate(self._limits, clock)
        self._making = threading.Lock()
        self._made: Shared | None = None

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
            from gpustack_models.store.transfer.agenda import Agenda
            from gpustack_models.store.transfer.attempt import Attempt
            from gpustack_models.store.transfer.supply import Supply

            supply = Supply(sources, self._retry, self._gate, self._chance)
            agenda = Agenda(tuple(distinct.values()), supply, self._clock)
            attempt = Attempt(self._shared(), folder, agenda, supply, on_file, progress)
            return attempt.run(stop or threading.Event())
        except GsmError as error:
            if error.reason is Reason.INVALID_INPUT:
                raise GsmError(Reason.INVALID_REQUEST, error.message, hint=error.hint) from error
            raise
        finally:
            folder.close()

    def close(self) -> None:
        """Close the connections that wait for a next request."""
        with self._making:
            if self._made is not None:
                self._made.dialer.close()

    def _shared(self) -> Shared:
        # urllib3 is worth its import only when there is something to fetch.
        from gpustack_models.store.transfer.attempt import Shared
        from gpustack_models.store.transfer.connection import Dialer

        with self._making:
            if self._made is None:
                streams, stall = max(1, self._limits.concurrency), self._limits.stall_seconds
                dialer = Dialer(self._options, self._trust, connections=streams, read_timeout=stall)
                self._made = Shared(dialer, self._gate, self._clock, self._wall, streams, stall)
            return self._made
