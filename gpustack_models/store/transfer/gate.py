"""Owns what all attempts of a store share: how many requests run at once, the bytes per second, hosts left alone.

Refuses to know what is fetched; an attempt is only somebody who wants a share.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable

from gpustack_models.store.sources import Limits
from gpustack_models.store.transfer.budget import INTERVAL, Bucket, Climb

#: What a request costs beside its bytes, in bytes: so that many small files count as the work that they are.
REQUEST_WORTH = 64 << 10

#: Streams that wait for the network for less than this share of their time are held back by this machine.
_WAITING = 0.5

Host = tuple[str, str, int]


class Gate:
    """Shared by threads. `changed` guards the streams and is notified when one more may run.

    Its holder may call `may_enter`, `enter`, `leave`, `should_yield`; everything else locks by itself.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self.changed = threading.Condition()
        self._clock = clock
        self._climb = Climb(limits.concurrency)
        self._streams: Counter[Hashable] = Counter()
        self._waiting: set[Hashable] = set()
        self._total = 0
        self._shedding = 0
        self._counting = threading.Lock()
        self._bucket = Bucket(limits.bytes_per_second, clock())
        self._looked = clock()
        self._work, self._seconds, self._waited = 0, 0.0, 0.0
        self._holds: dict[Host, float] = {}

    @property
    def level(self) -> int:
        """How many streams may run now."""
        return self._climb.level

    def may_enter(self, who: Hashable) -> bool:
        """Whether `who`, with something to fetch, may begin one more stream; when not, it is known to wait."""
        mine = self._streams[who]
        fair = all(mine <= self._streams[other] for other in self._waiting if other != who)
        may = fair and self._total < self.level
        (self._waiting.discard if may else self._waiting.add)(who)
        return may

    def waits_no_more(self, who: Hashable) -> None:
        """`who` has nothing to fetch at the moment."""
        self._waiting.discard(who)

    def enter(self, who: Hashable) -> None:
        """Begin a stream."""
        self._streams[who] += 1
        self._total += 1

    def leave(self, who: Hashable) -> None:
        """End a stream."""
        self._streams[who] -= 1
        self._total -= 1
        self._shedding = max(0, self._shedding - 1)
        if self._waiting - {who}:
            self.changed.notify_all()

    def should_yield(self, who: Hashable) -> bool:
        """Whether a stream of `who` should end: one of too many, or for somebody who waits with far fewer."""
        if self._total <= self.level and not self._waiting:
            return False
        with self.changed:
            others = [self._streams[other] for other in self._waiting if other != who]
            too_many = self._total - self._shedding > self.level
            unfair = bool(others) and self._streams[who] - self._shedding > min(others) + 1
            self._shedding += too_many or unfair
            return too_many or unfair

    def forget(self, who: Hashable) -> None:
        """`who` wants nothing more."""
        with self.changed:
            self._waiting.discard(who)
            if not self._streams[who]:
                del self._streams[who]
            self.changed.notify_all()

    def worked(self, count: int, seconds: float, waited: float) -> None:
        """A stream got so many bytes (REQUEST_WORTH for a request) in so many seconds, of which it waited some."""
        with self._counting:
            self._work += count
            self._seconds += seconds
            self._waited += waited

    def look(self) -> None:
        """Follow the rate: called now and then, by anybody."""
        with self.changed:
            now = self._clock()
            passed = now - self._looked
            if passed < INTERVAL:
                return
            self._looked = now
            with self._counting:
                rate, waiting = self._work / passed, self._waited >= _WAITING * self._seconds
                self._work, self._seconds, self._waited = 0, 0.0, 0.0
            level = self.level
            if self._climb.look(rate, full=self._total >= level, waiting=waiting) > level:
                self.changed.notify_all()

    def throttled(self) -> None:
        """A host says that it is too much."""
        with self.changed:
            self._climb.throttled()

    def hold(self, host: Host, seconds: float) -> None:
        """Every stream leaves a host alone for so long."""
        with self._counting:
            self._holds[host] = max(self._holds.get(host, 0.0), self._clock() + seconds)

    def held(self, host: Host) -> float:
        """Seconds for which a host is left alone."""
        until = self._holds.get(host) if self._holds else None
        return max(0.0, until - self._clock()) if until is not None else 0.0

    def spend(self, count: int) -> float:
        """Take bytes of the budget; returns the seconds to wait before more are taken."""
        if not self._bucket.rate:
            return 0.0
        with self._counting:
            return self._bucket.spend(count, self._clock())

    def portion(self, most: int) -> int:
        """How many bytes to read at once."""
        return self._bucket.portion(most)
