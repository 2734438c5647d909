"""Owns that a peer saves the hub its bytes, and that a lying or broken one costs nothing but itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpustack_models.core.manifest import HEADER
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.attempts import Offer
from gpustack_models.store.peers import PeerSource
from gpustack_models.store.sources import Origin
from gpustack_models.store.writer import Writer
from gpustack_models.workflows.pull import Wanted, wanted_by_digest
from tests.integration.conftest import HubFactory, Publish
from tests.integration.store.disk import TEST, check_visible, put, visible
from tests.integration.store.hubs import bytes_of, content_requests, fetch, store_at, wanted
from tests.integration.store.peerserver import PeerServer, peer

FILES = {
    ".gitattributes": "*.safetensors filter=lfs diff=lfs merge=lfs -text\n",
    "config.json": "{}",
    "a b/ü?#%.txt": "names that an URL must quote",
    "model.safetensors": bytes_of(9 << 20, "model"),
}


@pytest.fixture
def seeded(tmp_path: Path, publish: Publish, local_hub: HubFactory) -> Path:
    """Another store that has the model."""
    publish("org/tiny", FILES)
    with store_at(tmp_path / "other") as store:
        assert fetch(store, wanted(local_hub(), "org/tiny")).tree
    return tmp_path / "other"


def with_peers(want: Wanted, *urls: str) -> Wanted:
    """The same, with peers asked first."""
    assert want.manifest is not None
    manifest = want.manifest
    peers = [Offer(f"peer {url}", Origin.PEER, lambda: manifest, PeerSource(url, want.digest)) for url in urls]
    return Wanted(want.name, want.digest, (*peers, *want.offers), want.pinned, manifest)


def test_bytes_come_from_the_peer(root: Path, seeded: Path, local_hub: HubFactory) -> None:
    hub = local_hub()
    want = wanted(hub, "org/tiny")
    hub.forget()
    with peer(seeded) as server, store_at(root) as store:
        answer = fetch(store, with_peers(want, server.url))
        assert answer.tree is not None
        assert (answer.source, answer.fetched) == ("Peer", answer.tree.manifest.size)
    assert hub.requests == []
    assert check_visible(root) == 1


def test_a_digest_alone_comes_from_a_peer(root: Path, seeded: Path) -> None:
    (digest,) = visible(seeded)
    with peer(seeded) as server, store_at(root) as store:
        assert fetch(store, wanted_by_digest(digest, digest, [server.url])).tree is not None
    assert check_visible(root) == 1


def test_with_nobody_to_ask_the_digest_is_named(root: Path) -> None:
    digest = "sha256:" + "5" * 64
    with store_at(root) as store:
        answer = fetch(store, wanted_by_digest(digest, digest, []))
    assert answer.error is not None
    assert answer.error.reason is Reason.SOURCE_UNAVAILABLE
    assert digest in answer.error.message


def short(path: str, data: bytes) -> bytes:
    return data[:-1] if path == "model.safetensors" else data


def flipped(path: str, data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1]) if path == "model.safetensors" else data


@pytest.mark.parametrize("lie", [short, flipped])
def test_wrong_bytes_of_a_peer_are_dropped_and_the_hub_is_asked(
    root: Path, seeded: Path, local_hub: HubFactory, lie: object
) -> None:
    hub = local_hub()
    want = wanted(hub, "org/tiny")
    with peer(seeded) as server, store_at(root) as store:
        server.lie = lie  # type: ignore[assignment]
        answer = fetch(store, with_peers(want, server.url))
        assert answer.tree is not None, answer.error
    assert content_requests(hub)
    assert check_visible(root) == 1


def test_a_peer_that_is_gone_hands_over(root: Path, seeded: Path, local_hub: HubFactory) -> None:
    with peer(seeded) as server:
        gone = server.url
    with store_at(root) as store:
        answer = fetch(store, with_peers(wanted(local_hub(), "org/tiny"), gone))
        assert answer.tree is not None, answer.error
        assert answer.source == "Hub"


LIES = {
    "truncated": lambda data: data[: data.rindex(b"\n", 0, -1) + 1],
    "doubled": lambda data: data + data[len(HEADER) :],
    "reordered": lambda data: HEADER + b"".join(reversed(data[len(HEADER) :].splitlines(keepends=True))),
    "another tree's": lambda _data: HEADER + b"sha256:" + b"0" * 64 + b" 1 a\n",
    "not a manifest": lambda _data: b"<html>please log in</html>",
    "empty": lambda _data: b"",
    "climbing": lambda _data: HEADER + b"sha256:" + b"0" * 64 + b" 1 ../../etc/passwd\n",
    "absolute": lambda _data: HEADER + b"sha256:" + b"0" * 64 + b" 1 /etc/passwd\n",
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_a_listing_that_is_not_the_digests_is_the_peers_failure(root: Path, seeded: Path, lie: object) -> None:
    assert callable(lie)
    (digest,) = visible(seeded)
    with peer(seeded) as liar, peer(seeded) as good, store_at(root) as store:
        liar.lie = lambda path, data: data if path else lie(data)
        failed = fetch(store, wanted_by_digest(digest, digest, [liar.url]))
        assert failed.error is not None
        assert failed.error.reason is Reason.SOURCE_UNAVAILABLE
        assert not [path for path in liar.asked if "/files/" in path]
        assert visible(root) == []
        assert fetch(store, wanted_by_digest(digest, digest, [liar.url, good.url]), now=True).tree is not None
        assert not [path for path in liar.asked if "/files/" in path]
    assert check_visible(root) == 1


def test_what_a_peer_does_not_have(root: Path, tmp_path: Path) -> None:
    with Writer.start(tmp_path / "other", TEST) as writer:
        put(writer, {"a": b"1"})
    digest = "sha256:" + "5" * 64
    with peer(tmp_path / "other") as server, pytest.raises(GsmError, match=f"does not have {digest}"):
        PeerSource(server.url, digest).manifest()
    assert isinstance(server, PeerServer)
