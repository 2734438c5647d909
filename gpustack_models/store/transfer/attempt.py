"""Owns one attempt at a set of files: its threads, what each does next, how it ends.

Refuses to stop waiting without a reason: it ends whole, or with the GsmError of the file or the disk that ended it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.handles import Dir, storage_error, storing
from gpustack_models.store.hashing import BOTH, CHUNK, Hasher, available_cores
from gpustack_models.store.sources import Fetched, Origin, TransferProgress, TransferReport
from gpustack_models.store.transfer.agenda import Agenda, Job
from gpustack_models.store.transfer.connection import Dialer
from gpustack_models.store.transfer.content import Content, Events
from gpustack_models.store.transfer.finish import Finisher
from gpustack_models.store.transfer.gate import REQUEST_WORTH, Gate
from gpustack_models.store.transfer.outcomes import Ends, Outcomes
from gpustack_models.store.transfer.partial import PartialFile
from gpustack_models.store.transfer.ranges import Segment
from gpustack_models.store.transfer.receive import Line, Receiver
from gpustack_models.store.transfer.supply import Supply, Todo

#: Up to here both digests of a content are computed, so that it is found by either name.
BOTH_NAMES = 16 << 20
_TICK_SECONDS = 0.2
_JOIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Shared:
    """What all attempts of one store share."""

    dialer: Dialer
    gate: Gate
    clock: Callable[[], float]
    wall: Callable[[], float]
    concurrency: int
    stall_seconds: float


class Attempt:
    """One call of Transfer.fetch. `gate.changed` guards what is pending, open and left to do."""

    def __init__(
        self,
        shared: Shared,
        folder: Dir,
        agenda: Agenda,
        supply: Supply,
        on_file: Callable[[Fetched], None],
        progress: TransferProgress | None,
    ) -> None:
        self._shared = shared
        self._gate = shared.gate
        self._folder = folder
        self._supply = supply
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._agenda = agenda
        self._threads: list[threading.Thread] = []
        self._receivers: list[Receiver] = []
        self._cores = available_cores()
        self._finisher = Finisher(on_file, self._fail)
        self._outcomes = Outcomes(folder, supply, self._finisher, progress, Ends(self._again, self._done, self._fail))
        self._events = Events(self._outcomes.verified, self._wake, self._finisher.save, self._whole, self._ended.is_set)
        self._line = Line(
            shared.dialer,
            shared.gate,
            supply,
            shared.clock,
            shared.wall,
            pause=self._pause,
            over=self._ended.is_set,
            should_yield=lambda: self._gate.should_yield(self),
        )

    def run(self, stop: threading.Event) -> TransferReport:
        """Fetch everything, or raise: GsmError, or what a callback raised."""
        try:
            self._make_empty()
            for _ in range(min(self._shared.concurrency, self._agenda.streams)):
                self._receivers.append(receiver := Receiver(self._line, CHUNK))
                self._start(self._work, receiver)
            while not self._ended.wait(_TICK_SECONDS):
                self._tick(stop)
        finally:
            self._end()
        if self._error is not None:
            raise self._error
        received, failures = self._supply.report()
        return TransferReport(received, self._agenda.kept, failures)

    # In the thread that called.

    def _make_empty(self) -> None:
        """An empty file needs no request."""
        for want in self._agenda.empty:
            with storing(f"{want.path} cannot be written"):
                self._outcomes.small(Todo(want), memoryview(b""), Origin.HUB, set())
        self._finisher.flush()

    def _tick(self, stop: threading.Event) -> None:
        if stop.is_set():
            self._fail(GsmError(Reason.CANCELED, "the transfer was stopped; what was fetched is kept"))
            return
        self._gate.look()
        self._finisher.flush()
        now = self._shared.clock()
        for receiver in self._receivers:
            watch = receiver.watch
            if now - watch.since > self._shared.stall_seconds:
                watch.stalled = True
                watch.cut()

    def _end(self) -> None:
        self._ended.set()
        self._wake()
        for receiver in self._receivers:
            receiver.watch.cut()
        for content in list(self._agenda.open):
            content.wake()
        for thread in list(self._threads):
            thread.join(_JOIN_SECONDS)
        self._finisher.close()
        self._gate.forget(self)
        for content in list(self._agenda.open):
            self._put_aside(content)

    def _put_aside(self, content: Content) -> None:
        """Keep what is verified of a file that was not finished."""
        if content.ranges.active:
            return  # its thread would not end in time, and still holds the handle
        position = content.ranges.verified
        with suppress(OSError):  # the attempt has ended for a better reason, and earlier checkpoints hold
            if position > content.partial.last_checkpoint and not content.ranges.done:
                content.partial.checkpoint(position, content.hasher.running(content.todo.want.digest.algorithm))
        content.partial.close()

    # In the threads that receive.

    def _work(self, receiver: Receiver) -> None:
        while (job := self._next()) is not None:
            wall, cpu = self._shared.clock(), time.thread_time()
            try:
                self._do(job, receiver)
            finally:
                wall, cpu = self._shared.clock() - wall, time.thread_time() - cpu
                if job.small:
                    self._gate.worked(job.todo.want.size + REQUEST_WORTH, wall, wall - cpu)
                with self._gate.changed:
                    self._gate.leave(self)
                    if job.small and self._agenda.ended_small(wall, cpu):
                        self._gate.changed.notify_all()

    def _next(self) -> Job | None:
        """The next job, with a stream to do it, or None when the attempt is over."""
        with self._gate.changed:
            while not self._ended.is_set():
                found, wait = self._agenda.candidate()
                if found is None:
                    self._gate.waits_no_more(self)
                    self._finisher.flush()
                    self._pipe(self._agenda.shared_alone(self._cores))
                elif self._gate.may_enter(self):
                    self._gate.enter(self)
                    thing, supplier = found
                    if isinstance(thing, Content) and thing.ranges.active:
                        self._pipe(thing)
                    return self._agenda.begin(thing, supplier, self._gate.level)
                self._gate.changed.wait(wait)
            return None

    def _do(self, job: Job, receiver: Receiver) -> None:
        todo, content, segment = job.todo, job.content, job.segment
        if content is None and not job.small:
            content, segment = self._open_file(todo)
        if content is not None and segment is None:
            return
        began = self._shared.clock()
        try:
            if content is None or segment is None:
                view = receiver.receive_small(todo, job.supplier)
                self._outcomes.small(todo, view, job.supplier.origin, {job.supplier.index})
            else:
                content.origin = job.supplier.origin
                receiver.receive(content, segment, job.supplier)
        except GsmError as error:
            if not self._ended.is_set():
                self._supply.failed(job.supplier, todo, error, began, self._shared.clock())
                if content is None:
                    self._again(todo)
        except OSError as error:
            raise storage_error(error, f"{todo.want.path} cannot be written") from error
        finally:
            if content is not None and segment is not None:
                content.release(segment)

    def _open_file(self, todo: Todo) -> tuple[Content, Segment | None]:
        want = todo.want
        algorithms = BOTH if want.size <= BOTH_NAMES else (want.digest.algorithm,)
        origin = self._supply.suppliers[0].origin
        with storing(f"{want.path} cannot be written"):
            partial = PartialFile(self._folder, want)
            hasher, verified = partial.resume(
                Hasher(algorithms, want.size),
                self._ended.is_set,
                lambda count: self._outcomes.tell(todo, count, origin),
            )
        content = Content(todo, partial, hasher, verified, self._events)
        with self._gate.changed:
            segment = self._agenda.opened(content, self._gate.level)
        if content.ranges.done:
            self._whole(content)
        return content, segment

    # From any thread.

    def _again(self, todo: Todo) -> None:
        with self._gate.changed:
            self._agenda.again(todo)
            self._gate.changed.notify()

    def _whole(self, content: Content) -> None:
        with self._gate.changed:
            self._agenda.open.remove(content)
        self._outcomes.whole(content)

    def _done(self) -> None:
        with self._gate.changed:
            self._agenda.left -= 1
            if not self._agenda.left:
                self._ended.set()
                self._gate.changed.notify_all()

    def _wake(self) -> None:
        with self._gate.changed:
            self._gate.changed.notify_all()

    def _pause(self, seconds: float) -> None:
        self._ended.wait(seconds)

    def _pipe(self, content: Content | None) -> None:
        """Let a thread hash behind a file's receivers."""
        if content is not None and content.begin_pipe():
            self._start(content.hash_behind)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        def guarded() -> None:
            try:
                work(*arguments)
            except OSError as error:
                self._fail(storage_error(error, "a file cannot be written"))
            except BaseException as error:  # noqa: BLE001 - carried to the thread that waits for the attempt
                self._fail(error)

        self._threads.append(thread := threading.Thread(target=guarded, name="transfer", daemon=True))
        thread.start()

    def _fail(self, error: BaseException) -> None:
        with self._gate.changed:
            if self._error is None and not self._ended.is_set():
                self._error = error
            self._ended.set()
            self._gate.changed.notify_all()
