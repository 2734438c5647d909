"""Owns the rules of an attempt: backoff, the lease, whose offer is next, which reason is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.location import Location
from gpustack_models.core.manifest import Algorithm, Entry, FileDigest, Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.attempts import (
    Offer,
    backing_off,
    backoff,
    bound,
    expired,
    joined,
    next_failure,
    retry_in,
    verdict,
)
from gpustack_models.store.clock import Instant
from gpustack_models.store.records import Failure
from gpustack_models.store.sources import Origin

MANIFEST = Manifest.of([Entry("a", 1, FileDigest(Algorithm.SHA256, "a" * 64))])
DIGEST = MANIFEST.digest
OTHER = "sha256:" + "0" * 64


class Nowhere:
    origin = Origin.HUB

    def locate(self, path: str) -> Location:
        raise AssertionError(path)


def offer(key: str, origin: Origin = Origin.HUB) -> Offer:
    return Offer(key, origin, lambda: MANIFEST, Nowhere())


@pytest.mark.parametrize(
    ("count", "seconds"), [(0, 0), (1, 60), (2, 120), (3, 240), (6, 1920), (7, 3600), (8, 3600), (10**9, 3600)]
)
def test_backoff(count: int, seconds: float) -> None:
    assert backoff(count) == seconds


@given(st.integers(1, 100), st.floats(0, 1e10), st.floats(0, 1e10), st.booleans())
def test_no_clock_blocks_longer_than_the_backoff(count: int, failed: float, asked: float, rebooted: bool) -> None:
    failure = Failure(DIGEST, count, Reason.SOURCE_UNAVAILABLE, "", Instant(failed, "one", 0.0))
    wait = retry_in(failure, Instant(asked, "two" if rebooted else "one", 1.0))
    assert 0 <= wait <= backoff(count)


def test_a_clock_that_was_ahead_at_an_earlier_boot_blocks_no_longer_than_the_backoff() -> None:
    failure = Failure(DIGEST, 1, Reason.SOURCE_UNAVAILABLE, "", Instant(4e9, "one", 5.0))
    assert retry_in(failure, Instant(1.7e9, "two", 20.0)) == 40
    assert retry_in(failure, Instant(1.7e9, "two", 60.0)) == 0


@pytest.mark.parametrize("reason", [Reason.INVALID_REQUEST, Reason.CANCELED])
def test_what_does_not_back_off(reason: Reason) -> None:
    assert next_failure(None, DIGEST, GsmError(reason, "x"), Instant(0)) is None


def test_failures_in_a_row_are_counted_and_their_message_is_bounded() -> None:
    first = next_failure(None, DIGEST, GsmError(Reason.ACCESS_DENIED, "no"), Instant(5))
    assert first == Failure(DIGEST, 1, Reason.ACCESS_DENIED, "no", Instant(5))
    second = next_failure(first, DIGEST, GsmError(Reason.SOURCE_UNAVAILABLE, "x" * 9999), Instant(9))
    assert second is not None
    assert (second.count, second.reason, len(second.message)) == (2, "SourceUnavailable", 500)


def test_a_backoff_answers_with_the_reason_and_the_time() -> None:
    answer = backing_off(Failure(DIGEST, 3, Reason.ACCESS_DENIED, "the hub said no", Instant(0)), 41.6)
    assert (answer.reason, answer.message, answer.retry_after) == (Reason.ACCESS_DENIED, "the hub said no", 41.6)
    assert "42 s" in answer.hint


def test_the_lease_is_five_minutes() -> None:
    assert not expired(10.0, 310.0)
    assert expired(10.0, 310.1)


def test_a_pair_joins_once_and_peers_come_first() -> None:
    offers = joined((offer("hub-a"),), [offer("hub-a"), offer("peer", Origin.PEER), offer("hub-b")])
    assert [each.key for each in offers] == ["peer", "hub-a", "hub-b"]


def test_a_credential_is_never_shown() -> None:
    shown = repr(Offer("pair", Origin.HUB, lambda: MANIFEST, Nowhere()))
    assert "manifest" not in shown
    assert "source" not in shown


@pytest.mark.parametrize(
    ("origin", "digest", "reason"),
    [
        pytest.param(Origin.HUB, DIGEST, None, id="the digest's"),
        pytest.param(Origin.HUB, OTHER, Reason.INTEGRITY_MISMATCH, id="a hub that lists something else"),
        pytest.param(Origin.PEER, OTHER, Reason.SOURCE_UNAVAILABLE, id="a peer's lie is the peer's"),
    ],
)
def test_a_listing_is_bound_to_the_digest(origin: Origin, digest: str, reason: Reason | None) -> None:
    problem = bound(offer("x", origin), digest, MANIFEST)
    assert (problem and problem.reason) == reason


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        pytest.param([], Reason.SOURCE_UNAVAILABLE, id="nobody to ask"),
        pytest.param([Reason.ACCESS_DENIED], Reason.ACCESS_DENIED, id="one"),
        pytest.param(
            [Reason.ACCESS_DENIED, Reason.SOURCE_UNAVAILABLE], Reason.SOURCE_UNAVAILABLE, id="what may pass by itself"
        ),
        pytest.param(
            [Reason.SOURCE_UNAVAILABLE, Reason.INTEGRITY_MISMATCH], Reason.INTEGRITY_MISMATCH, id="wrong bytes first"
        ),
    ],
)
def test_verdict(reasons: list[Reason], told: Reason) -> None:
    assert verdict(DIGEST, [GsmError(reason, str(reason)) for reason in reasons]).reason is told
