"""Owns how failures are counted, waited out and summed up.

Refuses clocks and chance: both are numbers here.
"""

from __future__ import annotations

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.sources import Origin
from gpustack_models.store.transfer.patience import Budget, Retry, verdict

RETRY = Retry(budget=3, refill_bytes=100, base=1.0, cap=3.0, patience=60.0)
AWAY = GsmError(Reason.SOURCE_UNAVAILABLE, "it answered 503")


def test_a_budget_is_spent_failure_by_failure_with_longer_waits() -> None:
    budget = Budget(RETRY)
    waits = []
    for now in (0.0, 10.0, 20.0):
        assert budget.spent is None
        assert budget.fail(AWAY, now, now, 0.0)
        waits.append(budget.until - now)
    assert waits == [1.0, 2.0, 3.0]
    assert budget.spent is AWAY


def test_chance_only_lengthens_a_wait() -> None:
    budget = Budget(RETRY)
    budget.fail(AWAY, 0.0, 0.0, 1.0)
    assert budget.until == 1.5


def test_requests_that_were_under_way_together_fail_once() -> None:
    budget = Budget(RETRY)
    assert budget.fail(AWAY, 1.0, 5.0, 0.0)
    assert [budget.fail(AWAY, began, 6.0, 0.0) for began in (2.0, 3.0, 5.0)] == [False, False, False]
    assert budget.spent is None
    assert budget.fail(AWAY, 5.1, 6.0, 0.0)


def test_what_a_source_gives_pays_failures_back() -> None:
    budget = Budget(RETRY)
    for now in range(0, 100, 10):
        assert budget.fail(AWAY, now, now, 0.0)
        budget.received(60)
        budget.received(40)
    assert budget.spent is None
    budget.fail(AWAY, 200.0, 200.0, 0.0)
    for _ in range(4):
        budget.answered()
    budget.fail(AWAY, 210.0, 210.0, 0.0)
    budget.fail(AWAY, 220.0, 220.0, 0.0)
    assert budget.spent is None


def test_a_drip_pays_nothing_back() -> None:
    budget = Budget(RETRY)
    for now in (0.0, 10.0, 20.0):
        budget.received(99)
        budget.fail(AWAY, now, now, 0.0)
    assert budget.spent is not None


def test_a_sources_own_wait_is_kept_and_may_be_too_long() -> None:
    budget = Budget(RETRY)
    budget.fail(GsmError(Reason.SOURCE_UNAVAILABLE, "429", retry_after=40.0), 0.0, 0.0, 0.0)
    assert (budget.until, budget.spent) == (40.0, None)
    late = GsmError(Reason.SOURCE_UNAVAILABLE, "429", retry_after=61.0)
    budget.fail(late, 50.0, 50.0, 0.0)
    assert budget.spent is late


DENIED = GsmError(Reason.ACCESS_DENIED, "it answered 403")
WRONG = GsmError(Reason.INTEGRITY_MISMATCH, "it serves 3 bytes")
LATE = GsmError(Reason.SOURCE_UNAVAILABLE, "it answered 429", retry_after=90.0)
HUB, PEER = Origin.HUB, Origin.PEER
VERDICTS = {
    "all refused": ([(HUB, DENIED), (HUB, DENIED)], Reason.ACCESS_DENIED, None),
    "one may come back": ([(HUB, DENIED), (HUB, AWAY)], Reason.SOURCE_UNAVAILABLE, None),
    "one says when": ([(HUB, AWAY), (HUB, LATE)], Reason.SOURCE_UNAVAILABLE, 90.0),
    "a hub is wrong": ([(HUB, AWAY), (HUB, WRONG)], Reason.INTEGRITY_MISMATCH, None),
    "a peer is wrong": ([(PEER, WRONG), (HUB, AWAY)], Reason.SOURCE_UNAVAILABLE, None),
    "a peer is away and the hub refuses": ([(PEER, AWAY), (HUB, DENIED)], Reason.ACCESS_DENIED, None),
    "only peers, and none has it": ([(PEER, DENIED), (PEER, WRONG)], Reason.SOURCE_UNAVAILABLE, None),
    "none": ([], Reason.SOURCE_UNAVAILABLE, None),
}


@pytest.mark.parametrize(("errors", "reason", "wait"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_of_a_file_that_no_source_is_left_for(
    errors: list[tuple[Origin, GsmError]], reason: Reason, wait: float | None
) -> None:
    failures = [(f"https://host{number}", origin, each) for number, (origin, each) in enumerate(errors)]
    error = verdict("a/file", failures)
    assert (error.reason, error.retry_after) == (reason, wait)
    assert error.message.startswith("a/file: ")
    assert all(each.message in error.message for _, each in errors)
