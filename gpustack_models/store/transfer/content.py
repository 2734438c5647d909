"""Owns the bytes of one file on their way: written where they belong, hashed in order, each once, from memory.

Refuses requests. Whoever receives hands over what arrived; one hasher at a time takes it in order: the receiver itself
in the same pass, or a thread of its own right behind it (node-store.md, "An attempt" 3 and 4).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from gpustack_models.store.hashing import CHUNK, Hasher
from gpustack_models.store.sources import Origin
from gpustack_models.store.transfer import checkpoint
from gpustack_models.store.transfer.partial import PUSH, PartialFile
from gpustack_models.store.transfer.ranges import PIECE, Ranges, Segment
from gpustack_models.store.transfer.supply import Todo


@dataclass(frozen=True, slots=True)
class Events:
    """What the attempt wants to know of a file; each is called without a lock, from the thread that did it.

    `verified` after every run of bytes, `widened` when more may be asked for, `checkpoint` with a position and the
    running digest there, `whole` after the last byte; `over` says whether everything should end.
    """

    verified: Callable[[Content], None]
    widened: Callable[[], None]
    checkpoint: Callable[[Content, int, str], None]
    whole: Callable[[Content], None]
    over: Callable[[], bool]


class Content:
    """One file under way. `lock` guards `ranges`, `piped` and who hashes; all else belongs to the one who hashes."""

    def __init__(self, todo: Todo, partial: PartialFile, hasher: Hasher, verified: int, events: Events) -> None:
        self.todo = todo
        self.partial = partial
        self.ranges = Ranges(todo.want.size, verified)
        self.hasher = hasher
        self.lock = threading.Condition()
        #: Whether a thread of its own hashes behind the receivers.
        self.piped = False
        #: A checkpoint is being written.
        self.saving = False
        #: Bytes that an earlier attempt left; whoever gave them is not known.
        self.kept = verified
        self.contributors: set[int] = set()
        self.origin = Origin.HUB
        #: Where each source's last redirect led, and what it called the content there.
        self.found_at: dict[int, str] = {}
        self.etags: dict[tuple[int, str], str] = {}
        self._events = events
        self._hashing = False

    @property
    def left(self) -> int:
        """Bytes not yet verified."""
        return self.ranges.size - self.ranges.verified

    def can_take(self) -> bool:
        """Whether one more stream would find something to fetch."""
        with self.lock:
            return self.ranges.can_take

    def take(self, *, whole: bool) -> Segment | None:
        """Bytes for one more stream."""
        with self.lock:
            return self.ranges.take(whole=whole)

    def release(self, segment: Segment) -> None:
        """A stream ended."""
        with self.lock:
            self.ranges.release(segment)

    def store(self, segment: Segment, view: memoryview) -> None:
        """The next bytes of a segment arrived. Raises OSError."""
        with self.lock:
            start = segment.position
            view = view[: segment.left]
        count = len(view)
        self.partial.write(view, start)
        if start // PUSH != (start + count) // PUSH:
            self.partial.push(start // PUSH * PUSH, PUSH)
        with self.lock:
            mine = not self.piped and start == self.ranges.verified
            self._hashing = mine
            self.ranges.receive(segment, count)
            self.lock.notify_all()
        if mine:
            self.hasher.update(view)
            self._advance(count)

    def begin_pipe(self) -> bool:
        """Leave the hashing to a thread behind the receivers; False when one does it already."""
        with self.lock:
            began, self.piped = not self.piped, True
            return began

    def await_room(self, segment: Segment) -> None:
        """Wait while the receivers are a whole window ahead of the hasher."""
        with self.lock:
            while segment.left and segment.position >= self.ranges.horizon and not self._events.over():
                self.lock.wait()

    def hash_behind(self) -> None:
        """Hash what the receivers wrote, until the last byte: the work of a thread of its own. Raises OSError.

        When everything should end, what has arrived in order is still hashed: a resume keeps it then.
        """
        buffer = memoryview(bytearray(CHUNK))
        while count := self._await_bytes():
            view = buffer[:count]
            if self.partial.read_into(view, self.ranges.verified) != count:
                raise OSError(None, "the file became shorter while it was written")
            self.hasher.update(view)
            self._advance(count)

    def wake(self) -> None:
        """Let every wait look again."""
        with self.lock:
            self.lock.notify_all()

    def _await_bytes(self) -> int:
        with self.lock:
            while not self.ranges.done:
                ready = 0 if self._hashing else self.ranges.ready - self.ranges.verified
                if ready:
                    return min(ready, CHUNK)
                if self._events.over() and not self._hashing:
                    break
                self.lock.wait()
            return 0

    def _advance(self, count: int) -> None:
        before = self.ranges.verified
        with self.lock:
            self._hashing = False
            self.ranges.verify(count)
            done = self.ranges.done
            self.lock.notify_all()
        position = before + count
        self._events.verified(self)
        if done:
            self._events.whole(self)
            return
        if checkpoint.due(position, self.partial.last_checkpoint) and not self.saving:
            self._events.checkpoint(self, position, self.hasher.running(self.todo.want.digest.algorithm))
        if before // PIECE != position // PIECE:
            self._events.widened()
