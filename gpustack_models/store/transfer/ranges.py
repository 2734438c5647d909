"""Owns which bytes of one file are missing, under way, received and verified, as plain numbers.

Refuses I/O and locks: whoever calls it holds one. No byte ever belongs to two streams, so no late write harms another.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20
#: What one request asks for when several streams share a file: long beside a round trip, short beside the window.
PIECE = 32 * MIB
#: How far ahead of the verified position bytes are asked for: what a page cache keeps on any node, so that hashing
#: reads memory (node-store.md, "An attempt" 3).
WINDOW = 256 * MIB


@dataclass(slots=True, eq=False)
class Segment:
    """Bytes [position, end) that a stream has yet to receive; `end` may be cut, down from `reach`: what was asked."""

    position: int
    end: int
    reach: int

    @property
    def left(self) -> int:
        """Bytes not yet received."""
        return self.end - self.position


class Ranges:
    """The bytes of one file of `size` bytes, of which the first `verified` are on disk and hashed."""

    def __init__(self, size: int, verified: int = 0, *, piece: int = PIECE, window: int = WINDOW) -> None:
        self.size = size
        self.verified = verified
        self.active: list[Segment] = []
        #: Set for a server that ignores ranges: one stream at a time.
        self.single = False
        self._piece = piece
        self._window = window
        self._missing: list[tuple[int, int]] = [(verified, size)] if verified < size else []

    @property
    def horizon(self) -> int:
        """Where the window ends: no byte from there on may be written yet."""
        return self.verified + self._window

    @property
    def ready(self) -> int:
        """Where the received bytes that adjoin the verified ones end."""
        return min([start for start, _ in self._missing] + [one.position for one in self.active], default=self.size)

    @property
    def done(self) -> bool:
        """Whether every byte is verified."""
        return self.verified == self.size

    @property
    def idle_bytes(self) -> int:
        """Bytes that no stream is receiving."""
        return sum(end - start for start, end in self._missing)

    @property
    def can_take(self) -> bool:
        """Whether `take` would give something."""
        if self.single and self.active:
            return False
        if self._missing:
            return self._missing[0][0] < self.horizon
        return self._longest() is not None

    def take(self, *, whole: bool = False) -> Segment | None:
        """The next bytes to ask for: all of the first gap with `whole`, else a piece of it; None when there is nothing.

        When no byte is missing, the longest segment under way gives up what lies beyond its next piece.
        """
        if not self.can_take:
            return None
        if not self._missing and (longest := self._longest()):
            edge = longest.position + self._piece
            self._missing = [(edge, longest.end)]
            longest.end = edge
        start, end = self._missing[0]
        stop = end if whole or self.single else min(end, start + self._piece)
        self._missing[:1] = [(stop, end)] if stop < end else []
        segment = Segment(start, stop, stop)
        self.active.append(segment)
        return segment

    def receive(self, segment: Segment, count: int) -> None:
        """`count` more bytes of a segment are on disk."""
        segment.position += count
        if not segment.left and segment in self.active:
            self.active.remove(segment)

    def release(self, segment: Segment) -> None:
        """A stream ended: what its segment lacks is missing again."""
        if segment in self.active:
            self.active.remove(segment)
            self._missing = _joined([*self._missing, (segment.position, segment.end)])
            segment.end = segment.position

    def verify(self, count: int) -> None:
        """`count` more bytes, in order, are hashed."""
        self.verified += count

    def read_whole(self, segment: Segment) -> int | None:
        """The server ignored the range and answers from the file's first byte: from now on one stream at a time.

        Returns how many bytes the only stream reads past before one is new. With other streams under way the segment
        is released and None returned; a segment that was cut takes back what it still can.
        """
        self.single = True
        if self.active != [segment]:
            self.release(segment)
            self._take_back()
            return None
        start = self.ready
        self._missing = []
        segment.position = start
        segment.end = segment.reach = self.size
        return start

    def _longest(self) -> Segment | None:
        longest = max(self.active, key=lambda one: one.left, default=None)
        if longest is None or longest.left < 2 * self._piece or longest.position + self._piece >= self.horizon:
            return None
        return longest

    def _take_back(self) -> None:
        for segment in self.active:
            for gap in self._missing:
                if gap[0] == segment.end < segment.reach:
                    self._missing.remove(gap)
                    segment.end = min(gap[1], segment.reach)
                    if segment.end < gap[1]:
                        self._missing = _joined([*self._missing, (segment.end, gap[1])])
                    break


def _joined(gaps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(gaps):
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
