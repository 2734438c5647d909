"""Owns what becomes of a file once its last byte is hashed: handed over, or not what was asked for; and what is told.

Refuses to blame a hub for bytes that it did not give.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpustack_models.core.manifest import FileDigest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.handles import Dir, storing
from gpustack_models.store.hashing import BOTH, Hasher
from gpustack_models.store.sources import Fetched, Origin, TransferProgress
from gpustack_models.store.transfer.content import Content
from gpustack_models.store.transfer.finish import Finisher
from gpustack_models.store.transfer.partial import PartialFile
from gpustack_models.store.transfer.supply import Supply, Todo

_TELL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Ends:
    """What follows: a file is to be fetched once more, a file is done, the attempt has failed."""

    again: Callable[[Todo], None]
    done: Callable[[], None]
    failed: Callable[[BaseException], None]


class Outcomes:
    """The ends of one attempt's files. From any thread, with no lock held."""

    def __init__(
        self, folder: Dir, supply: Supply, finisher: Finisher, progress: TransferProgress | None, ends: Ends
    ) -> None:
        self._folder = folder
        self._supply = supply
        self._finisher = finisher
        self._progress = progress
        self._ends = ends
        self._telling = threading.Lock()

    def small(self, todo: Todo, view: memoryview, origin: Origin, contributors: set[int]) -> None:
        """All bytes of a small file are here, in memory. Raises OSError, GsmError(StorageFailed)."""
        want = todo.want
        hasher = Hasher(BOTH, want.size)
        hasher.update(view)
        digests = hasher.digests()
        if want.digest not in digests:
            self._mismatch(todo, contributors, digests, kept=False)
            return
        partial = PartialFile(self._folder, want)
        try:
            partial.empty()
            partial.write(view, 0)
        finally:
            partial.close()
        self.tell(todo, want.size, origin)
        self._finisher.hand_small(Fetched(want, partial.path, digests, origin, synced=False), self._ends.done)

    def whole(self, content: Content) -> None:
        """The last byte of an open file is hashed; whoever did it has no more to do with it."""
        digests = content.hasher.digests()
        if content.todo.want.digest in digests:
            self._finisher.hand_over(content, digests, self._ends.done)
            return
        try:
            with storing(f"{content.todo.want.path} cannot be discarded"):
                content.partial.discard()
                content.partial.close()
        except GsmError as error:
            self._ends.failed(error)
            return
        self._mismatch(content.todo, content.contributors, digests, kept=bool(content.kept))

    def verified(self, content: Content) -> None:
        """More of an open file is hashed."""
        if content.ranges.verified - content.todo.told >= _TELL_BYTES or content.ranges.done:
            self.tell(content.todo, content.ranges.verified, content.origin)

    def tell(self, todo: Todo, verified: int, origin: Origin) -> None:
        """Say how far a file is; never less than was said before."""
        if self._progress is None:
            return
        with self._telling:
            if verified > todo.told or not todo.want.size:
                todo.told = verified
                self._progress(todo.want, verified, origin)

    def _mismatch(self, todo: Todo, contributors: set[int], digests: Sequence[FileDigest], *, kept: bool) -> None:
        """The content is not what was asked for: the hub's error, when every byte of it was the hub's."""
        want = todo.want
        self._supply.distrust(contributors, want.digest)
        if kept or not self._supply.origins(contributors) <= {Origin.HUB}:
            self._ends.again(todo)
            return
        got = next(digest for digest in digests if digest.algorithm is want.digest.algorithm)
        names = ", ".join(self._supply.suppliers[index].name for index in sorted(contributors)) or "an empty file"
        self._ends.failed(
            GsmError(
                Reason.INTEGRITY_MISMATCH,
                f"{want.path}: the bytes from {names} are {got}, and the manifest says {want.digest}",
                hint="nothing of this file was kept; ask who publishes it",
            )
        )
