"""Owns how sources follow each other: who is asked, from which byte, with whose token, and whose failure it is.

Refuses timings, but for the least that a server asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpustack_models.core.manifest import Algorithm
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.sources import Origin
from tests.integration.store.faultserver import (
    Behaviour,
    FaultServer,
    at_rate,
    claim_length,
    end_at,
    flip,
    redirect,
    status,
)
from tests.integration.store.transferring import (
    MIB,
    QUICK,
    SIGNATURE,
    TOKEN,
    From,
    Got,
    fetch,
    make_transfer,
    noise,
    want,
    wants_of,
)

SMALL = noise(5000)
LARGE = noise(9 * MIB + 99)
FILES = {"a/small": SMALL, "b/large": LARGE}


@pytest.fixture
def serving() -> Iterator[Callable[..., FaultServer]]:
    servers: list[FaultServer] = []

    def start(files: dict[str, bytes] = FILES) -> FaultServer:
        servers.append(FaultServer(dict(files)))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


Serving = Callable[..., FaultServer]


def test_the_next_source_goes_on_where_the_last_one_ended(serving: Serving, tmp_path: Path) -> None:
    peer, hub = serving(), serving()
    peer.then("b/large", end_at(4 * MIB))
    peer.always["b/large"] = status("503 Service Unavailable")
    got = fetch([want("b/large", LARGE)], tmp_path, [From(peer.url, Origin.PEER), From(hub.url)])
    assert got.content("b/large") == LARGE
    assert [one.range for one in hub.asked("b/large")] == [(4 * MIB, len(LARGE))]
    assert got.report is not None
    assert got.report.received == {Origin.PEER: 4 * MIB, Origin.HUB: len(LARGE) - 4 * MIB}
    (failure,) = got.report.failures
    assert (failure.index, failure.origin, failure.error.reason) == (0, Origin.PEER, Reason.SOURCE_UNAVAILABLE)
    assert len(peer.asked("b/large")) == QUICK.budget, "a spent source was asked again, or given up too early"


BAD_PEER: dict[str, Behaviour] = {"a flipped bit": flip(4000), "another length": claim_length(7)}


@pytest.mark.parametrize("fault", BAD_PEER.values(), ids=BAD_PEER)
@pytest.mark.parametrize("name", FILES)
def test_a_peers_wrong_bytes_are_its_own_failure(serving: Serving, tmp_path: Path, name: str, fault: Behaviour) -> None:
    peer, hub = serving(), serving()
    peer.always[name] = fault
    got = fetch([want(name, FILES[name])], tmp_path, [From(peer.url, Origin.PEER), From(hub.url)])
    assert got.content(name) == FILES[name]
    assert got.files[name].origin is Origin.HUB
    assert got.report is not None
    (failure,) = got.report.failures
    assert (failure.index, failure.error.reason) == (0, Reason.INTEGRITY_MISMATCH)
    assert got.progress[name] == sorted(set(got.progress[name])), "progress went back"


def test_a_peer_that_died_after_wrong_bytes_costs_one_whole_read(serving: Serving, tmp_path: Path) -> None:
    peer, hub = serving(), serving()
    wrong = bytearray(LARGE)
    wrong[MIB] ^= 1
    peer.files["b/large"] = bytes(wrong)
    peer.then("b/large", end_at(4 * MIB))
    peer.always["b/large"] = status("503 Service Unavailable")
    got = fetch([want("b/large", LARGE)], tmp_path, [From(peer.url, Origin.PEER), From(hub.url)])
    assert got.content("b/large") == LARGE
    assert [one.range for one in hub.asked("b/large")] == [(4 * MIB, len(LARGE)), None]


def test_a_peer_without_one_file_is_asked_for_the_next(serving: Serving, tmp_path: Path) -> None:
    peer, hub = serving({"a/small": SMALL}), serving()
    got = fetch(wants_of(FILES), tmp_path, [From(peer.url, Origin.PEER), From(hub.url)])
    assert {path: fetched.origin for path, fetched in got.files.items()} == {
        "a/small": Origin.PEER,
        "b/large": Origin.HUB,
    }
    assert got.report is not None
    assert got.report.failures == ()


def test_a_refused_pair_hands_over_to_the_next(serving: Serving, tmp_path: Path) -> None:
    first, second = serving(), serving()
    first.always.update(dict.fromkeys(FILES, status("403 Forbidden")))
    got = fetch(wants_of(FILES), tmp_path, [From(first.url, token="first"), From(second.url, token="second")])
    assert {path: got.content(path) for path in FILES} == FILES
    assert {one.headers["authorization"] for one in first.requests} == {"Bearer first"}
    assert {one.headers["authorization"] for one in second.requests} == {"Bearer second"}


def test_one_refusal_in_the_midst_of_serving_is_not_believed(serving: Serving, tmp_path: Path) -> None:
    hub = serving()
    hub.then("a/small", status("403 Forbidden"))
    got = fetch(wants_of(FILES), tmp_path, [From(hub.url)], transfer=make_transfer(concurrency=1))
    assert {path: got.content(path) for path in FILES} == FILES
    assert len(hub.asked("a/small")) == 2


def test_a_grant_that_ends_in_the_midst_is_access_denied(serving: Serving, tmp_path: Path) -> None:
    hub = serving()
    hub.always["a/small"] = status("403 Forbidden")
    with pytest.raises(GsmError, match="answered 403") as caught:
        fetch(wants_of(FILES), tmp_path, [From(hub.url)], transfer=make_transfer(concurrency=1))
    assert caught.value.reason is Reason.ACCESS_DENIED
    assert len(hub.asked("a/small")) == 3


def test_all_refused_is_access_denied_and_names_each(serving: Serving, tmp_path: Path) -> None:
    first, second = serving({}), serving({})
    with pytest.raises(GsmError) as caught:
        fetch([want("a/small", SMALL)], tmp_path, [From(first.url), From(second.url)])
    assert caught.value.reason is Reason.ACCESS_DENIED
    assert f"a/small: http://127.0.0.1:{first.port}: it answered 404" in caught.value.message
    assert f"http://127.0.0.1:{second.port}: it answered 404" in caught.value.message


def test_one_refused_and_one_away_may_be_tried_again(serving: Serving, tmp_path: Path) -> None:
    first, second = serving({}), serving()
    second.always["a/small"] = status("500 Internal Server Error")
    with pytest.raises(GsmError, match="answered 500") as caught:
        fetch([want("a/small", SMALL)], tmp_path, [From(first.url), From(second.url)])
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


def test_nobody_there_is_source_unavailable(serving: Serving, tmp_path: Path) -> None:
    server = serving()
    server.close()
    with pytest.raises(GsmError, match="it refuses connections") as caught:
        fetch([want("a/small", SMALL)], tmp_path, [From(server.url)])
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


def test_no_source_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(GsmError, match="no source") as caught:
        fetch([want("a/small", SMALL)], tmp_path, [])
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


def test_the_hubs_wrong_bytes_end_the_attempt_and_keep_what_was_whole(serving: Serving, tmp_path: Path) -> None:
    hub = serving()
    hub.always["a/small"] = flip(0)
    got = Got()
    with pytest.raises(GsmError, match="a/small: the bytes from http") as caught:
        fetch(wants_of(FILES), tmp_path, [From(hub.url)], got=got, transfer=make_transfer(concurrency=1))
    assert caught.value.reason is Reason.INTEGRITY_MISMATCH
    assert list(got.files) == ["b/large"]
    assert [path.name for path in tmp_path.iterdir()] == [got.files["b/large"].path.name]


def test_a_token_stays_with_its_hub(serving: Serving, tmp_path: Path) -> None:
    hub, cdn = serving(), serving()
    for path in FILES:
        hub.always[path] = redirect(f"{cdn.url}/{path}?{SIGNATURE}")
    got = fetch(wants_of(FILES), tmp_path, [From(hub.url)])
    assert {path: got.content(path) for path in FILES} == FILES
    assert {one.headers["authorization"] for one in hub.requests} == {f"Bearer {TOKEN}"}, "the search finds it there"
    assert cdn.requests
    assert all(TOKEN not in f"{one.path}{one.headers}" for one in cdn.requests)


def test_a_redirect_on_the_same_host_keeps_the_token(serving: Serving, tmp_path: Path) -> None:
    hub = serving()
    hub.files["moved"] = SMALL
    hub.always["a/small"] = redirect("/moved", "307 Temporary Redirect")
    fetch([want("a/small", SMALL)], tmp_path, [From(hub.url)])
    assert [one.headers["authorization"] for one in hub.asked("moved")] == [f"Bearer {TOKEN}"]


def test_an_expired_redirect_is_asked_for_again(serving: Serving, tmp_path: Path) -> None:
    hub, cdn = serving(), serving()
    hub.always["b/large"] = redirect(f"{cdn.url}/b/large?{SIGNATURE}")
    cdn.then("b/large", end_at(2 * MIB), end_at(2 * MIB), status("403 Forbidden"))
    got = fetch([want("b/large", LARGE)], tmp_path, [From(hub.url)])
    assert got.content("b/large") == LARGE
    assert len(hub.asked("b/large")) == 2, "the redirect is remembered until it expires"
    assert got.report is not None
    assert got.report.failures == ()


def test_a_cdn_that_refuses_is_not_the_hub_that_does(serving: Serving, tmp_path: Path) -> None:
    hub, cdn = serving(), serving({})
    hub.always["a/small"] = redirect(f"{cdn.url}/a/small?{SIGNATURE}")
    with pytest.raises(GsmError, match="answered 404") as caught:
        fetch([want("a/small", SMALL)], tmp_path, [From(hub.url)])
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE
    assert SIGNATURE not in caught.value.message


def test_retry_after_holds_every_stream_of_the_host(serving: Serving, tmp_path: Path) -> None:
    files = {f"{number}": noise(2000, number) for number in range(12)}
    hub = serving(files)
    hub.then("3", status("429 Too Many Requests", retry_after="1"))
    got = fetch(wants_of(files), tmp_path, [From(hub.url)], transfer=make_transfer(concurrency=4))
    assert len(got.files) == len(files)
    refused = hub.asked("3")[0].at
    # What was on its way at that moment is answered; then nothing is asked for a second.
    assert not [one.path for one in hub.requests if refused + 0.2 < one.at < refused + 0.95]
    assert [one.path for one in hub.requests if one.at >= refused + 0.95]


def test_a_hub_that_wants_more_patience_than_an_attempt_has_ends_it(serving: Serving, tmp_path: Path) -> None:
    hub = serving()
    hub.always["a/small"] = status("429 Too Many Requests", retry_after="3600")
    with pytest.raises(GsmError, match="answered 429") as caught:
        fetch([want("a/small", SMALL)], tmp_path, [From(hub.url)])
    assert (caught.value.reason, caught.value.retry_after) == (Reason.SOURCE_UNAVAILABLE, 3600)
    assert len(hub.asked("a/small")) == 1


def test_never_more_requests_at_once_than_allowed_over_all_attempts(serving: Serving, tmp_path: Path) -> None:
    files = {f"{number}": noise(400_000, number) for number in range(16)}
    hub = serving(files)
    hub.always.update(dict.fromkeys(files, at_rate(1_600_000)))
    transfer = make_transfer(concurrency=3)
    half = list(files.items())
    done: list[Got] = []

    def pull(part: list[tuple[str, bytes]], name: str) -> None:
        folder = tmp_path / name
        folder.mkdir()
        done.append(fetch(wants_of(dict(part)), folder, [From(hub.url)], transfer=transfer))

    threads = [threading.Thread(target=pull, args=(half[at::2], f"{at}")) for at in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(got.files) for got in done] == [8, 8]
    assert 2 <= hub.most_at_once() <= 3


def test_a_second_attempt_is_not_starved_by_the_first(serving: Serving, tmp_path: Path) -> None:
    hub = serving({"b/large": LARGE, **{f"{number}": noise(8 * MIB, number) for number in range(3)}})
    hub.always.update({f"{number}": at_rate(MIB) for number in range(3)})
    transfer = make_transfer(concurrency=2)
    stop = threading.Event()
    slow = wants_of({f"{number}": hub.files[f"{number}"] for number in range(3)})

    def pull() -> None:
        with pytest.raises(GsmError, match="stopped"):
            fetch(slow, tmp_path, [From(hub.url)], transfer=transfer, stop=stop)

    first = threading.Thread(target=pull)
    first.start()
    while len(hub.requests) < 2:
        stop.wait(0.01)
    second = tmp_path / "second"
    second.mkdir()
    got = fetch([want("b/large", LARGE)], second, [From(hub.url)], transfer=transfer)
    assert got.content("b/large") == LARGE
    assert first.is_alive()
    stop.set()
    first.join()


def test_both_names_of_a_content_are_known_and_either_finds_it(serving: Serving, tmp_path: Path) -> None:
    hub = serving()
    got = fetch([want("a/small", SMALL, Algorithm.GITSHA1)], tmp_path, [From(hub.url)])
    assert set(got.files["a/small"].digests) == {
        want("", SMALL, Algorithm.GITSHA1).digest,
        want("", SMALL, Algorithm.SHA256).digest,
    }


def test_many_files_share_a_few_connections(serving: Serving, tmp_path: Path) -> None:
    files = {f"{number}": noise(500, number) for number in range(60)}
    hub = serving(files)
    got = fetch(wants_of(files), tmp_path, [From(hub.url)], transfer=make_transfer(concurrency=4))
    assert len(got.files) == 60
    assert len({id(one.sock) for one in hub.requests}) <= 4
    assert all(one.range is None for one in hub.requests)
