"""Owns that no jump of the wall clock makes anything old, or keeps anything young."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.store.clock import Instant, age

HOUR = 3600.0


@pytest.mark.parametrize(
    ("then", "now", "seconds"),
    [
        pytest.param(Instant(1000, "a", 10), Instant(1060, "a", 70), 60, id="one boot"),
        pytest.param(Instant(1000, "a", 10), Instant(9e9, "a", 70), 60, id="one boot, wall set forward"),
        pytest.param(Instant(9e9, "a", 10), Instant(1000, "a", 70), 60, id="one boot, wall set back"),
        pytest.param(Instant(1000, "a", 10), Instant(4600, "b", 5), HOUR, id="another boot"),
        pytest.param(Instant(4600, "a", 10), Instant(1000, "b", 5), 5, id="another boot, wall set back"),
        pytest.param(Instant(4600, "a", 10), Instant(1000), 0, id="wall set back, this boot not known"),
        pytest.param(Instant(1000), Instant(4600), HOUR, id="no boots known"),
    ],
)
def test_age(then: Instant, now: Instant, seconds: float) -> None:
    assert age(then, now) == seconds


@given(st.floats(-1e10, 1e10), st.floats(-1e10, 1e10), st.floats(0, 1e8), st.floats(0, 1e8))
def test_within_a_boot_the_wall_clock_has_no_say(wall: float, later: float, begin: float, end: float) -> None:
    first, last = sorted((begin, end))
    assert age(Instant(wall, "boot", first), Instant(later, "boot", last)) == last - first


@given(st.floats(0, 1e10), st.floats(0, 1e10), st.floats(0, 1e8))
def test_nothing_of_an_earlier_boot_is_younger_than_a_clock_set_back_says(
    wall: float, later: float, uptime: float
) -> None:
    assert age(Instant(wall, "first", 0.0), Instant(later, "second", uptime)) >= min(uptime, abs(later - wall))
