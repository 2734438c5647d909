"""Owns how much is asked for at once: the bytes-per-second budget, and a concurrency that follows the rate it earns.

Refuses clocks, locks and sleeping: seconds come in, and seconds to wait or streams to run go out.
"""

from __future__ import annotations

#: The budget never gives more than this much of a second at once, so that a rate is kept over any short while.
_BURST_SECONDS = 0.25


class Bucket:
    """A budget of bytes per second over all streams; 0 is unlimited."""

    def __init__(self, bytes_per_second: int, now: float) -> None:
        self.rate = bytes_per_second
        self._free = 0.0
        self._at = now

    def spend(self, count: int, now: float) -> float:
        """Take `count` bytes; returns the seconds to wait before the next are taken."""
        if not self.rate:
            return 0.0
        self._free = min(self._free + (now - self._at) * self.rate, self.rate * _BURST_SECONDS)
        self._at = now
        self._free -= count
        return max(0.0, -self._free / self.rate)

    def portion(self, most: int) -> int:
        """How many bytes to read at once, so that no single read is a long wait."""
        return most if not self.rate else max(1 << 10, min(most, int(self.rate * _BURST_SECONDS / 4)))


#: Seconds between two looks at the rate.
INTERVAL = 0.5
#: A step up must bring this share of what it would bring if every stream earned alike.
_WORTH = 0.25
#: A rate below this share of the best that the same streams earned lately, for so many looks, asks whether few streams
#: would bring more; they are kept when they bring so much more.
_COLLAPSE = 0.6
_COLLAPSED_LOOKS = 2
_BETTER = 1.1
#: What the memory of the best rate keeps from look to look.
_MEMORY = 0.98
#: Looks before a step that earned nothing is tried again: doubled each time, up to the second.
_REST = (8, 128)


class Climb:
    """How many streams may run: up while each step earns its share, down when more streams bring less.

    Doubles at first, then adds one; a step that earns nothing is taken back and not tried again for a while. When the
    rate collapses, the first level is tried, and the climb begins anew where that brings more. `limit` is the most,
    `start` the first level; `level` is how many may run now.
    """

    def __init__(self, limit: int, start: int = 2) -> None:
        self.limit = max(1, limit)
        self.level = self._first = max(1, min(start, self.limit))
        self._doubling = True
        self._best = 0.0
        self._trial: tuple[int, float] | None = None
        self._settling = False
        self._collapsed = 0
        self._rest = 0
        self._next_rest = _REST[0]

    def look(self, rate: float, *, full: bool, waiting: bool = True) -> int:
        """One interval ended at this rate of work; returns the level.

        `full` when every allowed stream ran, `waiting` when they mostly waited for the network: else this machine is
        what is slow, and no stream is added.
        """
        if not full or rate <= 0:
            return self.level
        if self._settling:
            # The first interval after a step is half the old level's.
            self._settling = False
        elif self._trial is not None:
            self._judge(rate, *self._trial)
        else:
            self._cruise(rate, waiting=waiting)
        return self.level

    def throttled(self) -> int:
        """The other side says that it is too much: half the streams, and a rest. Returns the level."""
        self._settle_at(max(1, self.level // 2))
        return self.level

    def _cruise(self, rate: float, *, waiting: bool) -> None:
        self._collapsed = self._collapsed + 1 if rate < self._best * _COLLAPSE else 0
        if self._collapsed >= _COLLAPSED_LOOKS and self.level > self._first:
            self._try(self._first, rate)
            return
        self._best = max(rate, self._best * _MEMORY)
        self._rest -= 1
        if self._rest < 0 and self.level < self.limit and waiting and not self._collapsed:
            self._try(min(self.limit, self.level * 2 if self._doubling else self.level + 1), rate)

    def _try(self, level: int, rate: float) -> None:
        self._trial = (self.level, rate)
        self.level = level
        self._settling = True

    def _judge(self, rate: float, level: int, earned: float) -> None:
        self._trial = None
        if self.level > level:
            if rate >= earned * (1 + _WORTH * (self.level - level) / level):
                self._best = rate
                self._next_rest = _REST[0]
            else:
                self._settle_at(level)
        else:
            self._settle_at(self.level if rate >= earned * _BETTER else level)

    def _settle_at(self, level: int) -> None:
        self.level = level
        self._trial = None
        self._collapsed = 0
        self._best = 0.0
        self._doubling = False
        self._rest = self._next_rest
        self._next_rest = min(self._next_rest * 2, _REST[1])
