"""Owns verifying a store and repairing it: what broke leaves sight, and comes back from a hub or a peer.

Refuses to open hubs, and to print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpustack_models.core import refs
from gpustack_models.core.manifest import Manifest
from gpustack_models.core.refs import HubKind, HubRef
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.protocol import Hub
from gpustack_models.store import mending
from gpustack_models.store.attempts import Offer
from gpustack_models.store.handles import storing
from gpustack_models.store.peers import PeerSource
from gpustack_models.store.records import Failure, Use
from gpustack_models.store.scrub import Scrubbed, scrub
from gpustack_models.store.sources import Origin
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Writer
from gpustack_models.workflows.pull import HubSource, Wanted

#: Called with the bytes to hash, and gives what is called with the bytes hashed since the last call.
Progress = Callable[[int], Callable[[int], None]]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where broken files may come from: peers first, then the hubs that the trees' own names lead to."""

    hubs: Mapping[HubKind, Hub]
    peers: tuple[str, ...] = ()


def verify(store: Store, digests: Sequence[str], threads: int | None, progress: Progress | None) -> Scrubbed:
    """Hash trees (or everything) again; with a writer, what is broken is withdrawn at once. Raises GsmError."""
    found = scrub(store, digests, threads=threads, progress=progress)
    if found.passed or not isinstance(store, Writer):
        return found
    if digests:
        names = [name for blob in found.broken_blobs for name in blob.names]
        with storing("the store cannot be looked at"):
            others = mending.sharing(store.snapshot(), names, digests)
        if others:
            found = scrub(store, [*digests, *others], threads=threads, progress=progress)
    mending.withdraw(store, found)
    return found


def repairable(store: Store, found: Scrubbed, named: Iterable[str]) -> list[str]:
    """The digests to be brought back: the trees that broke, and those named by a person that are not published."""
    broken = [tree.digest for tree in found.broken_trees]
    return list(dict.fromkeys([*broken, *(digest for digest in named if store.lookup(digest) is None)]))


def broken_before(store: Store) -> list[str]:
    """The digests that an earlier verification withdrew, and that did not come back."""
    with storing("the failures cannot be read"):
        return sorted(failure.digest for failure in store.ledger.all(Failure) if failure.count == 0)


def hubs_of(store: Store, digests: Iterable[str]) -> set[HubKind]:
    """The hubs that the names of these digests lead to."""
    return {ref.kind for digest in digests for ref in _refs_of(store, digest)}


def wanted_again(store: Store, digest: str, sources: Sources) -> Wanted:
    """A digest to be pulled again: its manifest is here, and its files come from its own sources."""
    manifest = store.pending.get(digest)

    def listed() -> Manifest:
        if manifest is None:
            raise GsmError(
                Reason.SOURCE_UNAVAILABLE,
                f"the manifest of {digest} broke, and only a peer could have it",
                hint="pull the reference again, or name a peer with --from",
            )
        return manifest

    offers = [
        Offer(f"peer {url}", Origin.PEER, listed if manifest else source.manifest, source)
        for url in sources.peers
        for source in (PeerSource(url, digest),)
    ]
    refs_here = _refs_of(store, digest)
    offers += [
        Offer(str(ref), Origin.HUB, listed, HubSource(sources.hubs[ref.kind], ref))
        for ref in refs_here
        if ref.kind in sources.hubs
    ]
    name = str(refs_here[-1]) if refs_here else digest
    return Wanted(name, digest, tuple(offers), "", manifest)


def _refs_of(store: Store, digest: str) -> list[HubRef]:
    """The hubs' references at commits that this content was pulled by."""
    with storing(f"the names of {digest} cannot be read"):
        use = store.ledger.get(Use, digest)
    found = []
    for name in use.names if use else ():
        try:
            ref = refs.parse(name)
        except GsmError:
            continue
        if isinstance(ref, HubRef) and ref.is_commit:
            found.append(ref)
    return found
