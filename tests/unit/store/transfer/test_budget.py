"""Owns that bytes per second are kept and that streams follow the rate they earn, on links drawn as functions.

Refuses clocks: seconds are counted here.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.store.transfer.budget import Bucket, Climb


@given(st.integers(1000, 10**9), st.lists(st.integers(1, 1 << 20), min_size=1, max_size=60))
def test_no_run_of_reads_gets_more_than_the_rate(rate: int, reads: list[int]) -> None:
    bucket = Bucket(rate, 0.0)
    now, taken = 0.0, 0
    for count in reads:
        now += bucket.spend(count, now)
        taken += count
        assert taken <= rate * (now + 0.25) + 1
    assert now <= taken / rate + 1e-6, "it waited for longer than the rate asks"


def test_no_rate_is_no_wait() -> None:
    bucket = Bucket(0, 0.0)
    assert bucket.spend(1 << 40, 0.0) == 0
    assert bucket.portion(1 << 20) == 1 << 20


def test_a_low_rate_is_read_in_small_portions() -> None:
    assert Bucket(64 << 10, 0.0).portion(1 << 20) == 4 << 10


Link = Callable[[int], float]


def climbed(link: Link, looks: int = 80, limit: int = 8, seed: int = 1) -> list[int]:
    """The levels over time, on a link whose rate is a function of the streams, with 5 % of noise."""
    noise = random.Random(seed)
    climb = Climb(limit)
    levels = []
    for _ in range(looks):
        levels.append(climb.level)
        climb.look(link(climb.level) * noise.uniform(0.95, 1.05), full=True)
    return levels


#: The link, and between which levels nine looks of ten should be in the end.
LINKS: dict[str, tuple[Link, int, int]] = {
    "every stream earns": (lambda level: level * 10.0, 8, 8),
    "one stream fills it": (lambda level: 10.0, 2, 2),
    "four streams fill it": (lambda level: min(level, 4) * 10.0, 4, 4),
    "three at best, then less": (lambda level: level * 10.0 if level <= 3 else 30.0 / (level - 2), 3, 3),
    "it throttles above two": (lambda level: level * 10.0 if level <= 2 else 5.0, 2, 2),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("link", "low", "high"), LINKS.values(), ids=LINKS)
def test_streams_follow_the_rate_they_earn(link: Link, low: int, high: int, seed: int) -> None:
    last = climbed(link, looks=120, seed=seed)[-60:]
    assert sum(low <= level <= high for level in last) >= 0.85 * len(last)


def test_a_link_that_every_stream_fills_more_is_climbed_at_once() -> None:
    assert climbed(lambda level: level * 10.0)[8] == 8


def test_a_hub_that_begins_to_throttle_is_met_with_few_streams() -> None:
    moment = iter(range(1000))

    def link(level: int) -> float:
        return level * 10.0 if next(moment) < 30 or level <= 2 else 5.0

    levels = climbed(link, looks=100)
    assert levels[25] == 8
    assert sum(level == 2 for level in levels[40:]) > 45


def test_a_word_of_the_hub_halves_the_streams() -> None:
    climb = Climb(8)
    for _ in range(10):
        climb.look(climb.level * 10.0, full=True)
    assert climb.level == 8
    assert climb.throttled() == 4
    assert climb.look(40.0, full=True) == 4


def test_streams_that_idle_prove_nothing() -> None:
    climb = Climb(8)
    for _ in range(20):
        climb.look(100.0, full=False)
    assert climb.level == 2


@given(st.integers(1, 16), st.lists(st.tuples(st.floats(0, 1e9), st.booleans()), max_size=60))
def test_the_level_stays_within_its_limits(limit: int, looks: list[tuple[float, bool]]) -> None:
    climb = Climb(limit)
    for rate, full in looks:
        assert 1 <= climb.look(rate, full=full) <= limit
