"""Owns one request for bytes, from its first byte sent to its last byte stored: for a part of a file, or a small file.

Refuses to decide what follows a failure: it ends with a GsmError that says what the source did.
"""

from __future__ import annotations

import http.client
import math
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import urllib3.exceptions

from gpustack_models.core.location import origin_of
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.transfer.answers import Asked, Given, judge
from gpustack_models.store.transfer.connection import Answer, Dialer
from gpustack_models.store.transfer.content import Content
from gpustack_models.store.transfer.gate import REQUEST_WORTH, Gate
from gpustack_models.store.transfer.ranges import Segment
from gpustack_models.store.transfer.supply import Supplier, Supply, Todo
from gpustack_models.store.transfer.wire import Call
from gpustack_models.store.transfer.words import why

#: Bytes are written and hashed in runs of so many, or of what arrived in so many seconds.
_RUN = 256 << 10
_RUN_SECONDS = 0.1
#: What a remembered redirect answers when its signature has expired or its file moved.
_EXPIRED = frozenset({400, 401, 403, 404, 410})

_BODY_ERRORS = (OSError, http.client.HTTPException, urllib3.exceptions.HTTPError)


class Watch(Call):
    """A call with the time since which it waits for the network (monotonic seconds; infinite when it does not)."""

    def __init__(self) -> None:
        super().__init__()
        self.since = math.inf
        self.stalled = False


@dataclass(frozen=True, slots=True)
class Line:
    """What a receiver needs of its surroundings. `clock` is monotonic, `wall` the epoch's, both in seconds; `pause`
    sleeps, but not beyond the attempt's end; `over` says that it has ended.
    """

    dialer: Dialer
    gate: Gate
    supply: Supply
    clock: Callable[[], float]
    wall: Callable[[], float]
    pause: Callable[[float], None]
    over: Callable[[], bool]
    should_yield: Callable[[], bool]


class Receiver:
    """One thread's receiving: its buffer is used again for every request, and `watch` is what it waits for now."""

    def __init__(self, line: Line, buffer_size: int) -> None:
        self._line = line
        self._buffer = memoryview(bytearray(buffer_size))
        self.watch = Watch()

    def receive(self, content: Content, segment: Segment, supplier: Supplier) -> None:
        """Fetch a segment from a source, as far as it goes. Raises GsmError for the source, OSError for the disk."""
        size = content.todo.want.size
        asked = Asked(segment.position, segment.end, size)
        answer, given = self._ask(content.todo, supplier, asked, content.found_at.get(supplier.index, ""))
        try:
            self._check_etag(content, supplier, answer, given)
            content.found_at[supplier.index] = "" if answer.at_home else answer.url
            content.contributors.add(supplier.index)
            with content.lock:
                segment.reach = max(segment.reach, given.end)
                skip = 0 if given.start == segment.position else content.ranges.read_whole(segment)
            if skip is None:
                return
            self._skip(answer, supplier, skip)
            self._pump(answer, content, segment, supplier, given.end)
            self._line.supply.answered(supplier)
        finally:
            answer.close()
            self.watch.since = math.inf

    def receive_small(self, todo: Todo, supplier: Supplier) -> memoryview:
        """Fetch a whole file of less than the buffer; the bytes are valid until the next call. Raises GsmError."""
        size = todo.want.size
        answer, _ = self._ask(todo, supplier, Asked(0, size, size), "")
        try:
            filled = 0
            while filled < size:
                count = self._read(answer, supplier, filled, size)
                if not count:
                    raise GsmError(Reason.SOURCE_UNAVAILABLE, "the body ended early")
                filled += count
            self._check_end(answer, size)
            self._line.supply.answered(supplier)
        finally:
            answer.close()
            self.watch.since = math.inf
        return self._buffer[:size]

    def _ask(self, todo: Todo, supplier: Supplier, asked: Asked, found_at: str) -> tuple[Answer, Given]:
        location = supplier.locate(todo.want.path)
        self.watch = Watch()
        if self._line.over():
            raise GsmError(Reason.CANCELED, "the transfer was stopped")
        bytes_range = "" if asked.whole else asked.range
        for at in (found_at, "") if found_at else ("",):
            self.watch.since = self._line.clock()
            try:
                answer = self._line.dialer.get(location, bytes_range, self.watch, at=at)
            except GsmError:
                self._raise_if_cut()
                raise
            if not (at and answer.status in _EXPIRED):
                break
            answer.close()
        self.watch.since = math.inf
        try:
            here = Asked(asked.start, asked.end, asked.size, answer.at_home)
            given = judge(here, answer.status, answer.headers, self._line.wall())
        except GsmError as error:
            answer.close()
            if error.retry_after is not None:
                self._line.gate.hold(origin_of(answer.url), error.retry_after)
            raise
        return answer, given

    def _check_etag(self, content: Content, supplier: Supplier, answer: Answer, given: Given) -> None:
        parts = urlsplit(answer.url)
        key = (supplier.index, f"{parts.netloc}{parts.path}")
        known = content.etags.setdefault(key, given.etag) if given.etag else ""
        if known != given.etag:
            raise GsmError(
                Reason.SOURCE_UNAVAILABLE, f"the content changed half way: ETag {known[:80]}, then {given.etag[:80]}"
            )

    def _skip(self, answer: Answer, supplier: Supplier, count: int) -> None:
        while count and not self._line.over():
            read = self._read(answer, supplier, 0, min(count, len(self._buffer)))
            if not read:
                raise GsmError(Reason.SOURCE_UNAVAILABLE, "the body ended early")
            count -= read

    def _pump(self, answer: Answer, content: Content, segment: Segment, supplier: Supplier, end: int) -> None:
        line, buffer = self._line, self._buffer
        line.gate.worked(REQUEST_WORTH, 0.0, 0.0)
        filled, began, waited = 0, line.clock(), 0.0
        while not line.over():
            content.await_room(segment)
            most = min(end - segment.position, segment.left, len(buffer))
            asked = line.clock()
            try:
                count = self._read(answer, supplier, filled, most) if filled < most else 0
            except GsmError:
                # What arrived before the failure is kept: the next request goes on behind it.
                self._keep(content, segment, filled)
                raise
            filled += count
            now = line.clock()
            waited += now - asked
            if filled >= _RUN or filled >= most or not count or now - began >= _RUN_SECONDS:
                if segment.position + filled == content.ranges.size:
                    self._check_end(answer, content.ranges.size)
                self._keep(content, segment, filled)
                now = line.clock()
                line.gate.worked(filled, now - began, waited)
                filled, began, waited = 0, now, 0.0
                if not segment.left or segment.position >= end or line.should_yield():
                    return
                if not count:
                    raise GsmError(Reason.SOURCE_UNAVAILABLE, "the body ended early")

    def _keep(self, content: Content, segment: Segment, filled: int) -> None:
        if filled:
            content.store(segment, self._buffer[:filled])

    def _read(self, answer: Answer, supplier: Supplier, start: int, end: int) -> int:
        line = self._line
        end = min(end, start + line.gate.portion(end - start))
        self.watch.since = line.clock()
        try:
            count = answer.read_into(self._buffer[start:end])
        except _BODY_ERRORS as error:
            self._raise_if_cut()
            raise GsmError(Reason.SOURCE_UNAVAILABLE, why(error)) from None
        self._raise_if_cut()
        self.watch.since = math.inf
        if count:
            line.supply.received(supplier, count)
            if wait := line.gate.spend(count):
                line.pause(wait)
        return count

    def _check_end(self, answer: Answer, size: int) -> None:
        # Only a body of no told length can hold more than the file; one that was told was compared before.
        if answer.headers.get("content-length"):
            return
        try:
            more = answer.read_into(memoryview(bytearray(1)))
        except _BODY_ERRORS:
            return
        if more:
            raise GsmError(Reason.INTEGRITY_MISMATCH, f"it serves more than the {size} bytes that the manifest says")

    def _raise_if_cut(self) -> None:
        if self.watch.stalled:
            raise GsmError(Reason.SOURCE_UNAVAILABLE, "it stalled")
        if self.watch.cut_off:
            raise GsmError(Reason.CANCELED, "the transfer was stopped")
