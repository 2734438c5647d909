"""Owns when small files are worth several streams.

Refuses streams; seconds are told.
"""

from __future__ import annotations

import pytest

from gpustack_models.store.transfer.agenda import SmallPace

#: Seconds in all and seconds of work, of each of the first files; after how many of them several streams run.
SERVERS = {
    "on this machine": (0.0004, 0.0003, None),
    "on this machine, which is busy": (0.0009, 0.0003, None),
    "in this room": (0.0015, 0.0003, SmallPace.NEAR),
    "across an ocean": (0.15, 0.0003, SmallPace.FAR),
    "too quick to be seen": (0.0, 0.0, None),
}


@pytest.mark.parametrize(("wall", "cpu", "after"), SERVERS.values(), ids=SERVERS)
def test_several_streams_fetch_small_files_where_one_mostly_waits(wall: float, cpu: float, after: int | None) -> None:
    pace = SmallPace()
    told = []
    for number in range(1, 2 * SmallPace.NEAR):
        pace.begin()
        second = pace.may_begin
        assert second is (after is not None and number > after)
        told.append(pace.end(wall, cpu))
    assert told.count(True) == (after is not None), "it is told once"


def test_one_long_wait_among_many_short_ones_decides_nothing() -> None:
    pace = SmallPace()
    for number in range(SmallPace.NEAR):
        pace.begin()
        pace.end(5.0 if number == 3 else 0.0004, 0.0003)
    pace.begin()
    assert not pace.may_begin


def test_a_server_that_becomes_slow_is_met_with_several_streams() -> None:
    pace = SmallPace()
    for number in range(SmallPace.NEAR + SmallPace.FAR):
        pace.begin()
        pace.end(0.0004 if number < SmallPace.NEAR else 0.05, 0.0003)
    pace.begin()
    assert pace.may_begin
