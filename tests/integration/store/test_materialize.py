"""Owns that a digest is fetched once whoever asks, from whoever may, and that every end has its reason."""

from __future__ import annotations

import os
import threading
from collections import Counter
from pathlib import Path

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.hub_server import fingerprint
from gpustack_models.store import attempts as rules
from gpustack_models.store.history import read
from gpustack_models.store.materialize import Answer
from gpustack_models.store.models import State, models
from gpustack_models.store.records import Asked, Failure, Use
from gpustack_models.store.store import Store
from tests.integration.conftest import TOKENS, HubFactory, Publish
from tests.integration.store.disk import MovedClock, check_visible, contents, visible
from tests.integration.store.hubs import MS, bytes_of, content_requests, fetch, offer, store_at, wanted

LFS = "*.safetensors filter=lfs diff=lfs merge=lfs -text\n"
FILES = {
    ".gitattributes": LFS,
    "config.json": '{"model_type": "tiny"}',
    "tokenizer/vocab.txt": "a\nb\n",
    "model-1.safetensors": bytes_of(3 << 20, "one"),
    "model-2.safetensors": bytes_of(1 << 20, "two"),
}


def test_a_pull_and_a_second_one(root: Path, publish: Publish, local_hub: HubFactory) -> None:
    publish("org/tiny", FILES)
    hub = local_hub()
    want = wanted(hub, "org/tiny")
    hub.forget()
    with store_at(root) as store:
        first = fetch(store, want)
        assert first.tree is not None
        assert contents(first.tree.path) == {path: _bytes(data) for path, data in FILES.items()}
        assert (first.fetched, first.source) == (want.manifest.size, "Hub") if want.manifest else False
        assert len(content_requests(hub)) == len(FILES)
        hub.forget()
        second = store.ask(want.digest, want.offers)
        assert second.tree == first.tree
    assert hub.requests == []
    assert check_visible(root) == 1
    assert os.listdir(root / "partial") == []
    with Store.open(root) as reader:
        use = reader.ledger.get(Use, want.digest)
        assert use is not None
        assert (use.source, use.names) == ("Hub", (want.pinned,))
        assert [event.event for event in read(reader.root.ledger)] == ["published"]


def test_a_revision_fetches_what_differs(root: Path, publish: Publish, local_hub: HubFactory) -> None:
    publish("org/tiny", FILES)
    publish(
        "org/tuned",
        {**FILES, "config.json": '{"model_type": "tuned"}', "again.safetensors": FILES["model-1.safetensors"]},
    )
    hub = local_hub()
    with store_at(root) as store:
        fetch(store, wanted(hub, "org/tiny"))
        hub.forget()
        tuned = fetch(store, wanted(hub, "org/tuned"))
    assert content_requests(hub) == [path for path in content_requests(hub) if path.endswith("config.json")]
    assert len(content_requests(hub)) == 1
    assert tuned.fetched == len('{"model_type": "tuned"}')
    assert check_visible(root) == 2


def test_the_other_hubs_copy_is_here_already(root: Path, publish: Publish, local_hub: HubFactory) -> None:
    publish("org/tiny", FILES)
    hub = local_hub()
    with store_at(root) as store:
        first, second = wanted(hub, "org/tiny"), wanted(hub, "org/tiny", MS)
        assert first.digest != second.digest
        fetch(store, first)
        hub.forget()
        assert fetch(store, second).fetched == 0
    assert content_requests(hub) == []
    assert check_visible(root) == 2


def test_requests_at_once_join_one_attempt(root: Path, publish: Publish, local_hub: HubFactory) -> None:
    publish("org/tiny", FILES)
    hub = local_hub()
    want = wanted(hub, "org/tiny")
    hub.forget()
    hub.fault("slow", "*", at=2 << 20)
    answers: list[Answer] = []
    with store_at(root) as store:
        threads = [threading.Thread(target=lambda: answers.append(fetch(store, want))) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({answer.tree.path for answer in answers if answer.tree}) == 1
    assert len(answers) == 12
    assert max(Counter(content_requests(hub)).values()) == 1
    assert len(content_requests(hub)) == len(FILES)


def test_a_file_that_two_digests_share_is_fetched_once(root: Path, publish: Publish, local_hub: HubFactory) -> None:
    big = bytes_of(6 << 20, "shared")
    repositories = [f"org/m{number}" for number in range(3)]
    for number, name in enumerate(repositories):
        publish(name, {".gitattributes": LFS, "shared.safetensors": big, f"own-{number}": f"{number}"})
    hub = local_hub()
    wants = [wanted(hub, name) for name in repositories]
    hub.forget()
    hub.fault("slow", "*", at=4 << 20)
    with store_at(root) as store:
        started = [store.ask(want.digest, want.offers) for want in wants]
        ends = [fetch(store, want) for want in wants]
        assert all(answer.download for answer in started)
    assert all(end.tree for end in ends)
    assert sum(each.sent for each in hub.requests) < len(big) + 100_000
    assert check_visible(root) == 3


def test_who_waits_for_a_shared_file_takes_over_when_its_fetcher_fails(
    root: Path, publish: Publish, local_hub: HubFactory
) -> None:
    big = bytes_of(6 << 20, "shared")
    publish("org/first", {".gitattributes": LFS, "shared.safetensors": big, "z-broken.bin": "broken"})
    publish("org/second", {".gitattributes": LFS, "shared.safetensors": big})
    hub = local_hub()
    first, second = wanted(hub, "org/first"), wanted(hub, "org/second")
    hub.fault("status", "*z-broken.bin", status=500)
    hub.fault("slow", "*shared*", at=4 << 20)
    hub.fault("slow", "/repos/*", at=4 << 20)
    with store_at(root) as store:
        store.ask(first.digest, first.offers)
        assert fetch(store, second).tree is not None
        failed = fetch(store, first)
        assert failed.error is not None
        assert failed.error.reason is Reason.SOURCE_UNAVAILABLE
    assert visible(root) == [second.digest]


def test_a_refused_pair_hands_over_and_no_token_meets_another_repository(
    root: Path, publish: Publish, local_hub: HubFactory
) -> None:
    for name, user in (("alice/private", "alice"), ("bob/copy", "bob")):
        publish(name, {**FILES, ".gitattributes": LFS}, f"access: private\nreaders: [{user}]\n")
    hub = local_hub()
    alice, bob = wanted(hub, "alice/private", token=TOKENS["alice"]), wanted(hub, "bob/copy", token=TOKENS["bob"])
    assert alice.digest == bob.digest
    hub.forget()
    refused = offer(hub, alice, "alice/private", TOKENS["bob"], "bob asks for what is alice's")
    good = offer(hub, bob, "bob/copy", TOKENS["bob"], "bob asks for his own")
    with store_at(root) as store:
        answer = store.ask(alice.digest, [refused])
        # The second requester joins while the first is under way, or after it was refused.
        joined = store.ask(alice.digest, [good])
        for _ in range(60):
            if joined.tree:
                break
            # With an error, the refusal was faster than the second request: the digest backs off, and is asked anew.
            joined = store.ask(alice.digest, [good], now=True) if joined.error else store.wait(joined, 1)
        assert joined.tree is not None
        assert answer.error is None
    bobs = fingerprint(f"Bearer {TOKENS['bob']}")
    assert {each.headers["authorization"] for each in hub.requests if each.authorized} == {bobs}
    assert all("alice" not in path for path in content_requests(hub))


@pytest.mark.parametrize("at", [0, 1 << 20, (3 << 20) - 1], ids=["first byte", "in the middle", "last byte"])
@pytest.mark.parametrize("path", ["model-1.safetensors", "config.json"])
def test_one_flipped_byte_is_the_hubs_failure(
    root: Path, publish: Publish, local_hub: HubFactory, at: int, path: str
) -> None:
    publish("org/tiny", FILES)
    hub = local_hub(redirect=False)
    want = wanted(hub, "org/tiny")
    hub.fault("flipped", f"*resolve*{path}", at=min(at, len(FILES[path]) - 1))
    with store_at(root) as store:
        failed = fetch(store, want)
        assert failed.error is not None
        assert failed.error.reason is Reason.INTEGRITY_MISMATCH
        assert path in failed.error.message
        assert visible(root) == []
        hub.unfault()
        assert fetch(store, want, now=True).tree is not None
    assert check_visible(root) == 1


WIRE = {
    "reset in the middle": {"kind": "reset", "at": 1000, "times": 1},
    "reset before the headers": {"kind": "reset", "at": -1, "times": 1},
    "a body too short": {"kind": "truncated", "at": 1000, "times": 1},
    "a stall": {"kind": "stall_body", "at": 1000, "times": 1},
    "a silent server": {"kind": "silence", "times": 1},
    "one 429": {"kind": "status", "status": 429, "retry_after": "0", "times": 1},
    "one 503": {"kind": "status", "status": 503, "times": 1},
}


@pytest.mark.parametrize("fault", WIRE.values(), ids=WIRE.keys())
def test_what_passes_is_lived_through(
    root: Path, publish: Publish, local_hub: HubFactory, fault: dict[str, object]
) -> None:
    publish("org/tiny", FILES)
    hub = local_hub(redirect=False)
    want = wanted(hub, "org/tiny")
    hub.fault(path="*resolve*model-1*", method="GET", **fault)  # type: ignore[arg-type]
    with store_at(root) as store:
        answer = fetch(store, want)
        assert answer.tree is not None, answer.error
    assert any(each.faults for each in hub.requests)
    assert check_visible(root) == 1


RANGES = {
    "ranges ignored": {"kind": "ignored_range"},
    "a wrong range": {"kind": "wrong_content_range", "times": 2},
    "another version half way": {"kind": "changed_etag", "after": 1, "times": 2},
    "a reset in every second range": {"kind": "reset", "at": 1 << 20, "times": 3},
}


@pytest.mark.parametrize("fault", RANGES.values(), ids=RANGES.keys())
def test_ranges_that_lie(root: Path, publish: Publish, local_hub: HubFactory, fault: dict[str, object]) -> None:
    publish("org/big", {".gitattributes": LFS, "model.safetensors": bytes_of(100 << 20, "big")})
    hub = local_hub(redirect=False)
    want = wanted(hub, "org/big")
    hub.fault(path="*resolve*model*", method="GET", **fault)  # type: ignore[arg-type]
    with store_at(root) as store:
        answer = fetch(store, want)
        assert answer.tree is not None, answer.error
    assert any(each.faults for each in hub.requests)
    assert check_visible(root) == 1


STORMS = {
    "429 without end": ({"kind": "status", "status": 429}, Reason.SOURCE_UNAVAILABLE),
    "503 without end": ({"kind": "status", "status": 503}, Reason.SOURCE_UNAVAILABLE),
    "resets without end": ({"kind": "reset", "at": -1}, Reason.SOURCE_UNAVAILABLE),
    "401": ({"kind": "status", "status": 401}, Reason.ACCESS_DENIED),
}


@pytest.mark.parametrize(("fault", "reason"), STORMS.values(), ids=STORMS.keys())
def test_what_does_not_pass_ends_with_a_reason_and_backs_off(
    root: Path, clock: MovedClock, publish: Publish, local_hub: HubFactory, fault: dict[str, object], reason: Reason
) -> None:
    publish("org/tiny", FILES)
    hub = local_hub(redirect=False)
    want = wanted(hub, "org/tiny")
    hub.fault(path="*resolve*model-1*", method="GET", **fault)  # type: ignore[arg-type]
    with store_at(root, clock) as store:
        failed = fetch(store, want)
        assert failed.error is not None
        assert failed.error.reason is reason
        hub.forget()
        again = store.ask(want.digest, want.offers)
        assert again.error is not None
        assert (again.error.reason, again.error.message) == (reason, failed.error.message)
        assert again.error.retry_after == 60
        assert hub.requests == []
    assert visible(root) == []


def test_backoff_doubles_outlives_a_restart_and_ends_with_success(
    root: Path, clock: MovedClock, publish: Publish, local_hub: HubFactory
) -> None:
    publish("org/tiny", FILES)
    hub = local_hub()
    want = wanted(hub, "org/tiny")
    fault = hub.fault("status", "*resolve*config.json", status=500)
    for count, seconds in enumerate((60, 120, 240), start=1):
        with store_at(root, clock) as store:
            answer = store.ask(want.digest, want.offers)
            while not answer.final:
                answer = store.wait(answer, 1)
            with Store.open(root, clock) as reader:
                failure = reader.ledger.get(Failure, want.digest)
                assert failure is not None
                assert failure.count == count
                (model,) = models(reader)
                assert (model.state, model.reason, model.retry_time) == (
                    State.FAILED,
                    Reason.SOURCE_UNAVAILABLE,
                    clock.wall + seconds,
                )
            clock.pass_(seconds - 1)
            waits = store.ask(want.digest, want.offers)
            assert waits.error is not None
            assert waits.error.retry_after == 1
            clock.pass_(1)
    hub.unfault(fault)
    with store_at(root, clock) as store:
        assert fetch(store, want).tree is not None
    with Store.open(root, clock) as reader:
        assert reader.ledger.get(Failure, want.digest) is None


@pytest.mark.parametrize("wall", [-900 * 86_400.0, 900 * 86_400.0], ids=["set back", "set forward"])
@pytest.mark.parametrize("reboot", [False, True], ids=["same boot", "another boot"])
def test_a_clock_that_jumps_blocks_no_longer_than_the_backoff(
    root: Path, clock: MovedClock, publish: Publish, local_hub: HubFactory, wall: float, reboot: bool
) -> None:
    publish("org/tiny", FILES)
    hub = local_hub()
    want = wanted(hub, "org/tiny")
    with hub.faulty("status", "*resolve*config.json", status=500), store_at(root, clock) as store:
        assert fetch(store, want).error is not None
    if reboot:
        clock.reboot()
    clock.wall += wall
    with store_at(root, clock) as store:
        answer = store.ask(want.digest, want.offers)
        if answer.error:
            assert answer.error.retry_after is not None
            assert answer.error.retry_after <= 60
            clock.pass_(60)
        if reboot and wall < 0:
            # All that is left of the failure's time is a moment in the future: it is as if it were now.
            clock.wall -= wall
        assert fetch(store, want).tree is not None


def test_nobody_asks_for_five_minutes(root: Path, clock: MovedClock, publish: Publish, local_hub: HubFactory) -> None:
    publish("org/tiny", {".gitattributes": LFS, "a.safetensors": bytes_of(20 << 20, "a"), "config.json": "{}"})
    hub = local_hub()
    want = wanted(hub, "org/tiny")
    hub.fault("slow", "*", at=2 << 20)
    with store_at(root, clock) as store:
        answer = store.ask(want.digest, want.offers)
        while not store.downloads()[0].downloaded:
            store.wait(Answer(), 0.05)
        clock.steady += rules.LEASE_SECONDS + 1
        attempt = answer.attempt
        assert attempt is not None
        while not attempt.done:
            store.wait(Answer(), 0.05)
        assert isinstance(attempt.error, GsmError)
        assert (attempt.error.reason, "five minutes" in attempt.error.message) == (Reason.CANCELED, True)
        assert store.downloads() == []
        # No backoff, and what was fetched is kept: asking is what brings it back.
        assert any(name.startswith("sha256-") for name in os.listdir(root / "partial"))
        hub.unfault()
        assert fetch(store, want).tree is not None
    with Store.open(root, clock) as reader:
        assert reader.ledger.get(Failure, want.digest) is None
        asked = reader.ledger.get(Asked, want.digest)
        assert asked is not None
        assert asked.number == 2


def test_asking_is_what_keeps_an_attempt_alive(
    root: Path, clock: MovedClock, publish: Publish, local_hub: HubFactory
) -> None:
    publish("org/tiny", {".gitattributes": LFS, "a.safetensors": bytes_of(12 << 20, "a")})
    hub = local_hub()
    want = wanted(hub, "org/tiny")
    hub.fault("slow", "*", at=3 << 20)
    with store_at(root, clock) as store:
        answer = store.ask(want.digest, want.offers)
        while not answer.final:
            clock.steady += rules.LEASE_SECONDS - 1
            answer = store.ask(want.digest, want.offers) if store.downloads() else store.wait(answer, 1)
            store.wait(Answer(), 0.05)
        assert answer.tree is not None


def test_a_listing_that_is_not_the_digests(root: Path, publish: Publish, local_hub: HubFactory) -> None:
    publish("org/tiny", FILES)
    publish("org/other", {"config.json": "{}"})
    hub = local_hub()
    want, other = wanted(hub, "org/tiny"), wanted(hub, "org/other")
    hub.forget()
    with store_at(root) as store:
        answer = store.ask(want.digest, other.offers)
        while not answer.final:
            answer = store.wait(answer, 1)
        assert answer.error is not None
        assert answer.error.reason is Reason.INTEGRITY_MISMATCH
        assert want.digest in answer.error.message
        assert other.digest in answer.error.message
    assert content_requests(hub) == []


def test_an_interrupted_download_goes_on(root: Path, publish: Publish, local_hub: HubFactory) -> None:
    big = bytes_of(100 << 20, "big")
    publish("org/big", {".gitattributes": LFS, "a.safetensors": big, "config.json": "{}"})
    hub = local_hub(redirect=False)
    want = wanted(hub, "org/big")
    with hub.faulty("slow", "*a.safetensors", at=40 << 20), store_at(root) as store:
        store.ask(want.digest, want.offers)
        while not list((root / "partial").glob("*.checkpoints")):
            store.wait(Answer(), 0.02)
    with Store.open(root) as reader:
        (model,) = models(reader)
        assert model.state is State.INCOMPLETE
    hub.forget()
    with store_at(root) as store:
        assert fetch(store, want).tree is not None
    sent = sum(each.sent for each in hub.requests)
    assert sent <= len(big) - (64 << 20) + 1000
    assert check_visible(root) == 1


def _bytes(data: object) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)  # type: ignore[call-overload]
