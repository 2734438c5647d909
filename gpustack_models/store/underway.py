"""Owns what the attempts of one process share: who fetches which file, what each has yet to write, how far it is.

Refuses I/O; every method is called with the materializer's condition held.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpustack_models.core.manifest import FileDigest, Manifest
from gpustack_models.errors import GsmError
from gpustack_models.store.attempts import Offer, joined
from gpustack_models.store.progress import Download, Rate
from gpustack_models.store.sources import Origin
from gpustack_models.store.trees import Tree


@dataclass(eq=False)
class Attempt:
    """One attempt at a digest: its number, its requesters' offers, when somebody last asked (monotonic), its bytes."""

    digest: str
    number: int
    asked: float
    since: float
    offers: tuple[Offer, ...] = ()
    names: tuple[str, ...] = ()
    phase: str = "Listing"
    manifest: Manifest | None = None
    #: Whether it is known what is missing.
    planned: bool = False
    #: Bytes yet to be written of each file; the reservation.
    left: dict[FileDigest, int] = field(default_factory=dict)
    origins: Counter[Origin] = field(default_factory=Counter)
    rate: Rate = field(default_factory=Rate)
    stop: threading.Event = field(default_factory=threading.Event)
    #: Why `stop` was set.
    stopped_by: str = ""
    tree: Tree | None = None
    error: BaseException | None = None
    #: Its failure is decided: whoever comes now has no part in it, and asks again when it is gone.
    closed: bool = False
    done: bool = False

    def join(self, offers: Iterable[Offer], names: Iterable[str], now: float) -> None:
        """One more request for the same content."""
        self.offers = joined(self.offers, offers)
        self.names = tuple(dict.fromkeys((*self.names, *names)))
        self.asked = now

    def halt(self, why: str) -> None:
        """Ask its threads to end; what was fetched is kept."""
        if not self.stop.is_set():
            self.stopped_by = why
            self.stop.set()

    @property
    def size(self) -> int:
        """Bytes of the whole tree, as often as its files name them; 0 until it is listed."""
        return self.manifest.size if self.manifest else 0

    @property
    def missing(self) -> int:
        """Bytes yet to be fetched."""
        return sum(self.left.values())

    @property
    def downloaded(self) -> int:
        """Bytes that are here, those of an earlier attempt and of other trees among them."""
        return max(0, self.size - self.missing) if self.planned else 0

    @property
    def source(self) -> str:
        """What the bytes mostly came from so far; empty when none were needed."""
        return str(max(self.origins, key=lambda origin: self.origins[origin])) if self.origins else ""

    def download(self) -> Download:
        """How far it is."""
        name = self.names[0] if self.names else ""
        done, rate = self.downloaded, self.rate.value
        return Download(self.digest, name, done, self.size, rate, self.since, self.source, self.phase)


class Flights:
    """Which attempt fetches which file, so that a file that two of them want is fetched once."""

    def __init__(self) -> None:
        self._owner: dict[FileDigest, Attempt] = {}

    def claim(self, attempt: Attempt, digests: Iterable[FileDigest]) -> list[FileDigest]:
        """Those that nobody else fetches, from now on this attempt's."""
        mine = [digest for digest in digests if self._owner.get(digest, attempt) is attempt]
        self._owner.update(dict.fromkeys(mine, attempt))
        return mine

    def release(self, attempt: Attempt) -> None:
        """What the attempt did not fetch may be fetched by another."""
        self._owner = {digest: owner for digest, owner in self._owner.items() if owner is not attempt}


def error_of(attempt: Attempt) -> GsmError | None:
    """The attempt's error when it is one of ours; any other is raised again."""
    if attempt.error is None or isinstance(attempt.error, GsmError):
        return attempt.error
    raise attempt.error
