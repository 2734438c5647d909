"""Owns bringing a digest here: one attempt per digest, whoever asks; each in a thread of its own, each with a reason.

Refuses to judge bytes (the transfer does), and to wait while it is asked: waiting is a call of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gpustack_models.errors import GsmError
from gpustack_models.store import attempts as rules
from gpustack_models.store import capacity, collect, progress
from gpustack_models.store import plan as planning
from gpustack_models.store.attempts import Offer
from gpustack_models.store.capacity import Watermarks
from gpustack_models.store.facts import Snapshot
from gpustack_models.store.fetching import Fetching, Shared, Transfer
from gpustack_models.store.plan import Plan
from gpustack_models.store.progress import Download
from gpustack_models.store.records import Asked, Failure
from gpustack_models.store.trees import Tree
from gpustack_models.store.underway import Attempt, Flights, error_of
from gpustack_models.store.writer import Writer

TICK_SECONDS = 1.0
#: How long an end waits for threads that are told to stop.
_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is told: the tree, or how far it is, or why not (and when again, in `retry_after`).

    `fetched` are the bytes that the attempt received, `source` what most of them came from; a hit has neither.
    """

    tree: Tree | None = None
    download: Download | None = None
    error: GsmError | None = None
    fetched: int = 0
    source: str = ""
    attempt: Attempt | None = None

    @property
    def final(self) -> bool:
        """Whether nothing is to be waited for."""
        return self.tree is not None or self.error is not None


class Materializer:
    """The attempts of one process on one store. Its methods may be called from any thread."""

    def __init__(self, writer: Writer, transfer: Transfer, watermarks: Watermarks | None = None) -> None:
        self._writer = writer
        self._transfer = transfer
        self._watermarks = watermarks or Watermarks()
        self._changed = threading.Condition()
        self._attempts: dict[str, Attempt] = {}
        self._shared = Shared(self._changed, self._attempts, Flights())
        self._numbers: dict[str, int] = {}
        self._failures: dict[str, Failure] = {}
        self._threads: list[threading.Thread] = []
        self._ticker: threading.Thread | None = None
        self._showing = threading.Lock()

    def ask(self, digest: str, offers: Iterable[Offer], names: Sequence[str] = (), *, now: bool = False) -> Answer:
        """Want a digest: a hit, the attempt that runs (joined) or begins, or the reason that still backs off.

        Asking again is what keeps an attempt alive. With `now` a backoff is not waited for. Raises
        GsmError(StorageFailed).
        """
        if tree := self._writer.lookup(digest):
            self._writer.touch(digest, names)
            return Answer(tree=tree)
        with self._changed:
            attempt = self._attempts.get(digest)
            if attempt:
                if attempt.stop.is_set() or attempt.closed:
                    # It winds down; two attempts on one digest would write to one file.
                    return Answer(download=attempt.download())
                attempt.join(offers, names, self._monotonic())
                return Answer(download=attempt.download(), attempt=attempt)
            failure = self._failure(digest)
            wait = rules.retry_in(failure, self._writer.clock.now()) if failure and not now else 0.0
            if failure and wait:
                return Answer(error=rules.backing_off(failure, wait))
            attempt = self._begin(digest, tuple(offers), tuple(names))
            return Answer(download=attempt.download(), attempt=attempt)

    def wait(self, answer: Answer, seconds: float) -> Answer:
        """Wait for the attempt that an answer is about, and count as asking meanwhile.

        An answer about no attempt comes back when something changed or the time is over: ask again then.
        """
        attempt = answer.attempt
        with self._changed:
            if attempt is None:
                self._changed.wait(seconds)
                return answer
            until = self._monotonic() + seconds
            while not attempt.done and (left := until - self._monotonic()) > 0:
                attempt.asked = self._monotonic()
                self._changed.wait(min(left, TICK_SECONDS))
            if not attempt.done:
                return Answer(download=attempt.download(), attempt=attempt)
        error = error_of(attempt)
        return Answer(attempt.tree, None, error, sum(attempt.origins.values()), attempt.source, attempt)

    def downloads(self) -> list[Download]:
        """What runs now, by digest."""
        with self._changed:
            return [attempt.download() for _, attempt in sorted(self._attempts.items())]

    def cancel(self, digest: str, why: str = "it was canceled") -> None:
        """End the attempt at a digest; its partial files stay."""
        with self._changed:
            if attempt := self._attempts.get(digest):
                attempt.halt(why)

    def collect(self) -> Plan:
        """The collection of every few minutes: garbage in any case, trees above the high watermark (node-store.md,
        "Collection"). Raises GsmError(UnknownFormat, StorageFailed) when the ledger cannot be read: nothing goes.
        """

        def decide(snapshot: Snapshot) -> Plan:
            with self._changed:
                left = capacity.outstanding([attempt.left for attempt in self._attempts.values()])
            return planning.plan(snapshot, capacity.to_free(snapshot.usage, self._watermarks, left))

        return collect.collect(self._writer, decide)

    def close(self) -> bool:
        """End every attempt and wait for their threads. False when one did not end: then keep the store's lock."""
        with self._changed:
            for attempt in self._attempts.values():
                attempt.halt("the process ends")
            self._changed.notify_all()
            threads = [thread for thread in (*self._threads, self._ticker) if thread]
        until = time.monotonic() + _GRACE_SECONDS
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def _begin(self, digest: str, offers: tuple[Offer, ...], names: tuple[str, ...]) -> Attempt:
        number = max(self._numbers.get(digest, 0), self._recorded(digest)) + 1
        self._numbers[digest] = number
        attempt = Attempt(digest, number, self._monotonic(), self._writer.clock.now().wall)
        attempt.join(offers, names, attempt.asked)
        self._attempts[digest] = attempt
        # A daemon: an interrupt must not wait for a hub that stalls.
        thread = threading.Thread(target=self._run, args=(attempt,), name=f"attempt-{digest[7:15]}", daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()
        if self._ticker is None:
            self._ticker = threading.Thread(target=self._tick, name="attempts", daemon=True)
            self._ticker.start()
        return attempt

    def _run(self, attempt: Attempt) -> None:
        try:
            attempt.tree = self._materialize(attempt)
        except GsmError as error:
            attempt.error = self._failed(attempt, error)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            attempt.error = error
        finally:
            self._tell(attempt)
            self._writer.end(attempt.digest)
            with self._changed:
                self._shared.flights.release(attempt)
                del self._attempts[attempt.digest]
            self._show()
            with self._changed:
                attempt.done = True
                self._changed.notify_all()

    def _materialize(self, attempt: Attempt) -> Tree:
        """The published tree; who joins while a failure is being decided still has its own offer tried."""
        fetching = Fetching(self._writer, self._transfer, self._watermarks, attempt, self._shared)
        while True:
            known = {offer.key for offer in attempt.offers}
            try:
                return fetching.materialize()
            except GsmError:
                with self._changed:
                    attempt.closed = attempt.stop.is_set() or not fetching.untried(known)
                    if attempt.closed:
                        raise

    def _failed(self, attempt: Attempt, error: GsmError) -> GsmError:
        if attempt.stop.is_set():
            return rules.canceled(attempt.digest, attempt.stopped_by)
        with self._changed:
            record = rules.next_failure(self._failure(attempt.digest), attempt.digest, error, self._writer.clock.now())
            if record:
                self._failures[attempt.digest] = record
                with suppress(OSError):  # a disk that is full or read-only still backs off, in memory
                    self._writer.ledger.put(record)
        return error

    def _tell(self, attempt: Attempt) -> None:
        if isinstance(attempt.error, GsmError):
            self._writer.log(
                "failed", attempt.digest, reason=str(attempt.error.reason), message=attempt.error.message[:500]
            )
        elif attempt.tree:
            self._failures.pop(attempt.digest, None)
            self._writer.log(
                "published",
                attempt.digest,
                names=list(attempt.names),
                source=attempt.source,
                bytes=sum(attempt.origins.values()),
            )

    def _failure(self, digest: str) -> Failure | None:
        if known := self._failures.get(digest):
            return known
        with suppress(GsmError):  # a record that cannot be read must not keep the digest away for good
            return self._writer.ledger.get(Failure, digest)
        return None

    def _recorded(self, digest: str) -> int:
        with suppress(GsmError):
            asked = self._writer.ledger.get(Asked, digest)
            return asked.number if asked else 0
        return 0

    def _monotonic(self) -> float:
        return self._writer.clock.monotonic()

    def _tick(self) -> None:
        """Once a second while anything runs: cancel what nobody asks for, and let other processes see how far it is."""
        while True:
            with self._changed:
                now = self._monotonic()
                for attempt in self._attempts.values():
                    attempt.rate.add(now, attempt.downloaded)
                    if rules.expired(attempt.asked, now):
                        attempt.halt("nobody asked for it for five minutes")
                if not self._attempts:
                    self._ticker = None
                    return
            self._show()
            with self._changed:
                self._changed.wait(TICK_SECONDS)

    def _show(self) -> None:
        """Let other processes see what runs now."""
        with self._showing, suppress(OSError):
            progress.write(self._writer.root.ledger, self.downloads())
