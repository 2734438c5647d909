"""Owns the laws of a file's ranges: every byte belongs to one owner at a time, and none beyond the window is asked for.

Refuses streams; their steps are drawn at random.
"""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gpustack_models.store.transfer.ranges import Ranges, Segment


class Streams(RuleBasedStateMachine):
    """Streams that take, receive, fail, are ignored, and a hasher behind them, in any order."""

    @initialize(
        size=st.integers(1, 200), kept=st.integers(0, 200), piece=st.integers(1, 20), window=st.integers(20, 60)
    )
    def begin(self, size: int, kept: int, piece: int, window: int) -> None:
        self.piece = piece
        self.ranges = Ranges(size, min(kept, size), piece=piece, window=window)
        #: What is on disk, as the model sees it, and who may write where.
        self.written = bytearray(b"\1" * self.ranges.verified + b"\0" * (size - self.ranges.verified))
        self.streams: list[Segment] = []

    @rule(whole=st.booleans())
    def take(self, whole: bool) -> None:
        could = self.ranges.can_take
        segment = self.ranges.take(whole=whole)
        assert (segment is not None) == could
        if segment:
            assert segment.left > 0
            assert segment.position < self.ranges.horizon
            assert whole or self.ranges.single or segment.left <= self.piece
            self.streams.append(segment)

    @precondition(lambda self: self.streams)
    @rule(data=st.data(), count=st.integers(1, 12))
    def receive(self, data: st.DataObject, count: int) -> None:
        segment = data.draw(st.sampled_from(self.streams))
        count = min(count, segment.left)
        self.written[segment.position : segment.position + count] = b"\1" * count
        self.ranges.receive(segment, count)
        if not segment.left:
            self.streams.remove(segment)

    @precondition(lambda self: self.streams)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        segment = data.draw(st.sampled_from(self.streams))
        self.streams.remove(segment)
        self.ranges.release(segment)

    @precondition(lambda self: self.streams)
    @rule(data=st.data())
    def ignored(self, data: st.DataObject) -> None:
        segment = data.draw(st.sampled_from(self.streams))
        skipped = self.ranges.read_whole(segment)
        assert (skipped is None) == (len(self.streams) > 1)
        if skipped is None:
            self.streams.remove(segment)
        else:
            assert (segment.position, segment.end) == (skipped, self.ranges.size)
            self.written[skipped:] = b"\0" * (self.ranges.size - skipped)

    @rule(count=st.integers(1, 50))
    def hash(self, count: int) -> None:
        count = min(count, self.ranges.ready - self.ranges.verified)
        if count:
            self.ranges.verify(count)

    @invariant()
    def every_byte_has_one_owner(self) -> None:
        if not hasattr(self, "ranges"):
            return
        spans = sorted((one.position, one.end) for one in self.ranges.active)
        assert self.ranges.active == [one for one in self.ranges.active if one in self.streams]
        assert len(self.streams) == len(spans)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        assert self.ranges.verified <= self.ranges.ready <= self.ranges.size

    @invariant()
    def what_is_ready_is_written(self) -> None:
        if hasattr(self, "ranges"):
            assert b"\0" not in self.written[: self.ranges.ready]
            owned = sum(one.left for one in self.ranges.active) + self.ranges.idle_bytes
            assert owned == self.written.count(0), "a byte is missing, and nobody will fetch it"

    def teardown(self) -> None:
        """Whatever happened, whoever goes on to the end has the whole file."""
        if not hasattr(self, "ranges"):
            return
        for segment in list(self.ranges.active):
            self.ranges.receive(segment, segment.left)
        while not self.ranges.done:
            self.ranges.verify(self.ranges.ready - self.ranges.verified)
            if more := self.ranges.take():
                self.ranges.receive(more, more.left)
        assert self.ranges.verified == self.ranges.size


TestStreams = Streams.TestCase


@given(st.integers(1, 500), st.integers(1, 40), st.integers(41, 200))
def test_pieces_cover_the_file_in_order(size: int, piece: int, window: int) -> None:
    ranges = Ranges(size, piece=piece, window=window)
    at = 0
    while not ranges.done:
        while segment := ranges.take():
            assert segment.position == at
            assert segment.end <= ranges.horizon + piece
            at = segment.end
            ranges.receive(segment, segment.left)
        ranges.verify(ranges.ready - ranges.verified)
    assert at == size


def test_a_second_stream_takes_what_the_first_would_reach_last() -> None:
    ranges = Ranges(100, piece=10, window=60)
    first = ranges.take(whole=True)
    assert first is not None
    ranges.receive(first, 5)
    second = ranges.take()
    assert second is not None
    assert (first.end, second.position, second.end) == (15, 15, 25)


def test_a_server_that_ignores_ranges_lets_the_first_stream_go_on() -> None:
    ranges = Ranges(100, piece=10, window=60)
    first = ranges.take(whole=True)
    second = ranges.take()
    assert first is not None
    assert second is not None
    assert ranges.read_whole(second) is None
    assert (first.end, ranges.can_take) == (100, False)
