"""Owns what an attempt has yet to do, and what one more stream would do next.

Refuses locks of its own: whoever calls holds the gate's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from gpustack_models.store.hashing import CHUNK
from gpustack_models.store.sources import Want
from gpustack_models.store.transfer.content import Content
from gpustack_models.store.transfer.ranges import PIECE, Segment
from gpustack_models.store.transfer.supply import Supplier, Supply, Todo

#: Up to here a file is fetched in one request and kept in memory until it is verified.
SMALL = CHUNK
#: A file with less left than this is not worth a thread that hashes behind the receiver.
_WORTH_PIPE = 8 << 20


@dataclass(frozen=True, slots=True)
class Job:
    """What a thread does next: one stream, for a small file, a file not yet opened, or a segment of an open one."""

    todo: Todo
    supplier: Supplier
    content: Content | None = None
    segment: Segment | None = None

    @property
    def small(self) -> bool:
        """Whether it is a whole file in one request."""
        return self.todo.want.size <= SMALL


class Agenda:
    """The files of one attempt: pending, largest first; open; and how many are left."""

    def __init__(self, wants: Sequence[Want], supply: Supply, clock: Callable[[], float]) -> None:
        self.open: list[Content] = []
        self.empty = [want for want in wants if not want.size]
        #: Files not yet handed over, bytes that an earlier attempt left, streams that could ever be busy at once.
        self.left = len(wants)
        self.kept = 0
        self.streams = sum(max(1, want.size // PIECE) for want in wants if want.size)
        self._pending = deque(Todo(want) for want in sorted(wants, key=lambda want: -want.size) if want.size)
        self._opening = 0
        self._supply = supply
        self._clock = clock
        self._small = SmallPace()

    def candidate(self) -> tuple[tuple[Todo | Content, Supplier] | None, float | None]:
        """What one more stream would fetch, and from where; else the seconds to wait for it, None for a notice.

        Raises the GsmError of a file that no source is left for.
        """
        waits = []
        for thing in self._in_order():
            todo = thing.todo if isinstance(thing, Content) else thing
            supplier = self._supply.choose(todo)
            wait = self._supply.wait(supplier, self._clock())
            if wait <= 0:
                return (thing, supplier), None
            waits.append(wait)
        return None, min(waits, default=None)

    def begin(self, thing: Todo | Content, supplier: Supplier, level: int) -> Job:
        """Take a candidate; `level` is how many streams may run. More streams than one make a file a shared one."""
        if isinstance(thing, Content):
            return Job(thing.todo, supplier, thing, thing.take(whole=self._one_stream_each(level)))
        self._pending.popleft()
        job = Job(thing, supplier)
        if job.small:
            self._small.begin()
        else:
            self._opening += 1
        return job

    def opened(self, content: Content, level: int) -> Segment | None:
        """A file is open; returns the bytes that its first stream fetches, None when every byte was kept."""
        self._opening -= 1
        self.open.append(content)
        self.kept += content.kept
        return None if content.ranges.done else content.take(whole=self._one_stream_each(level))

    def ended_small(self, wall: float, cpu: float) -> bool:
        """A small file's stream ended after so many seconds; whether more of them may run from now on."""
        return self._small.end(wall, cpu)

    def again(self, todo: Todo) -> None:
        """A file is to be fetched once more."""
        self._pending.appendleft(todo)

    def shared_alone(self, cores: int) -> Content | None:
        """With fewer files than cores: the longest one whose receiver still hashes, worth a thread that does."""
        if len(self.open) + self._opening >= cores:
            return None
        worth = [content for content in self.open if not content.piped and content.left > _WORTH_PIPE]
        return max(worth, key=lambda content: content.left, default=None)

    def _in_order(self) -> Iterator[Todo | Content]:
        """Open files that no stream works on, then the next new one, then a share of the longest under way."""
        for content in self.open:
            if not content.ranges.active and content.can_take():
                yield content
        if self._pending and (self._pending[0].want.size > SMALL or self._small.may_begin):
            yield self._pending[0]
        shared = [content for content in self.open if content.ranges.active and content.can_take()]
        if shared:
            yield max(shared, key=lambda content: content.left)

    def _one_stream_each(self, level: int) -> bool:
        """Whether there are files enough for every stream, so that none needs to share."""
        return bool(self._pending) or len(self.open) + self._opening >= level


class SmallPace:
    """Whether small files are worth several streams: they are while a stream mostly waits for the network.

    Near a fast server the interpreter is what is busy, and several threads in it only hand its lock around. So the
    first files are fetched by one stream, and tell: three of a far server, a few more of a near one.
    """

    FAR, FAR_SECONDS = 3, 0.01
    NEAR = 8
    #: How many times its own work a stream waits, at least, before others pay.
    WORTH = 3.0

    def __init__(self) -> None:
        self._running = 0
        self._waits: list[float] = []
        self._works: list[float] = []
        self._many = False

    @property
    def may_begin(self) -> bool:
        """Whether one more small file may be begun now."""
        return self._many or not self._running

    def begin(self) -> None:
        """A stream for a small file begins."""
        self._running += 1

    def end(self, wall: float, cpu: float) -> bool:
        """It ended; returns whether several may run from now on, which they could not before."""
        self._running -= 1
        if self._many:
            return False
        self._waits.append(wall - cpu)
        self._works.append(cpu)
        wait = median(self._waits)
        if len(self._waits) >= self.FAR and wait >= self.FAR_SECONDS:
            self._many = True
        elif len(self._waits) >= self.NEAR:
            self._many = wait > 0 and wait >= self.WORTH * median(self._works)
            self._waits.clear()
            self._works.clear()
        return self._many
