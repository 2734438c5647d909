"""Owns pulling into a store: the hub's and the peers' offers of a digest, and waiting for what was asked for.

Refuses to open hubs, sockets and the store, and to print.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpustack_models.core.location import Location
from gpustack_models.core.manifest import Manifest
from gpustack_models.core.refs import HubRef
from gpustack_models.errors import GsmError
from gpustack_models.hubs.protocol import Hub
from gpustack_models.store.attempts import Offer
from gpustack_models.store.materialize import Answer, Materializer
from gpustack_models.store.peers import PeerSource
from gpustack_models.store.progress import Download
from gpustack_models.store.sources import Origin
from gpustack_models.store.trees import Tree
from gpustack_models.workflows.resolve import Resolution

#: How often whoever waits is told how far it is, in seconds.
_TELL_SECONDS = 0.2


class HubSource:
    """The files of one commit at a hub, located with that hub's own credential."""

    origin = Origin.HUB

    def __init__(self, hub: Hub, ref: HubRef) -> None:
        self._hub = hub
        self._ref = ref

    def locate(self, path: str) -> Location:
        """Where a file's bytes are; no request is sent."""
        return self._hub.locate(self._ref.repository, self._ref.revision, path)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to pull: what a person called it, its digest, who offers it, the reference it was resolved to."""

    name: str
    digest: str
    offers: tuple[Offer, ...]
    pinned: str = ""
    manifest: Manifest | None = None


@dataclass(frozen=True, slots=True)
class Pulled:
    """What became of one: the tree, and how many of its bytes had to be fetched, from what."""

    wanted: Wanted
    tree: Tree
    fetched: int = 0
    source: str = ""


def wanted_of(name: str, resolution: Resolution, hub: Hub, peers: Sequence[str] = ()) -> Wanted:
    """A resolved reference: its peers are asked before its hub, for the bytes alone, since the manifest is known."""
    manifest = resolution.manifest
    offers = [Offer(f"peer {url}", Origin.PEER, lambda: manifest, PeerSource(url, manifest.digest)) for url in peers]
    offers.append(Offer("hub", Origin.HUB, lambda: manifest, HubSource(hub, resolution.pinned)))
    return Wanted(name, manifest.digest, tuple(offers), str(resolution.pinned), manifest)


def wanted_by_digest(name: str, digest: str, peers: Sequence[str]) -> Wanted:
    """A digest that only peers can have: the manifest comes from one, bound to the digest."""
    sources = [PeerSource(url, digest) for url in peers]
    offers = (Offer(f"peer {source.endpoint}", Origin.PEER, source.manifest, source) for source in sources)
    return Wanted(name, digest, tuple(offers))


def pull(
    materializer: Materializer,
    wanted: Sequence[Wanted],
    tell: Callable[[list[Download]], None],
    *,
    now: bool = False,
) -> list[Pulled | GsmError]:
    """Ask for everything at once, and wait for all of it. `tell` gets what is under way, several times a second.

    `now` does not wait for a backoff. The results are in the order of `wanted`.
    """
    answers = [_ask(materializer, each, now=now) for each in wanted]
    return [_settled(materializer, each, answer, tell) for each, answer in zip(wanted, answers, strict=True)]


def _ask(materializer: Materializer, wanted: Wanted, *, now: bool = False) -> Answer:
    return materializer.ask(wanted.digest, wanted.offers, [wanted.pinned] if wanted.pinned else [], now=now)


def _settled(
    materializer: Materializer, wanted: Wanted, answer: Answer, tell: Callable[[list[Download]], None]
) -> Pulled | GsmError:
    while not answer.final:
        tell(materializer.downloads())
        answer = materializer.wait(answer, _TELL_SECONDS)
        if answer.attempt is None and not answer.final:
            answer = _ask(materializer, wanted)
    if answer.tree:
        return Pulled(wanted, answer.tree, answer.fetched, answer.source)
    assert answer.error is not None  # noqa: S101 - a final answer has one of the two
    return answer.error
