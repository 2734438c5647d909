"""Owns when small files are worth several streams.

Refuses streams; seconds are told.
"""

from __future__ import annotations

import pytest

from gpustack_models.store.transfer.agenda import SmallPace

#: Seconds in all and seconds of work, of each of the first files; whether several streams pay.
SERVERS = {
    "on this machine": (0.0004, 0.0003, False),
    "on this machine, which is busy": (0.0009, 0.0003, False),
    "in this room": (0.0015, 0.0003, True),
    "across an ocean": (0.15, 0.0003, True),
    "too quick to be seen": (0.0, 0.0, False),
}


@pytest.mark.parametrize(("wall", "cpu", "many"), SERVERS.values(), ids=SERVERS)
def test_several_streams_fetch_small_files_where_one_mostly_waits(wall: float, cpu: float, many: bool) -> None:
    pace = SmallPace()
    told = []
    for _ in range(SmallPace.TRIAL):
        pace.begin()
        second = pace.may_begin
        told.append((second, pace.end(wall, cpu)))
    assert told == [(False, False)] * (SmallPace.TRIAL - 1) + [(False, many)], "the first are fetched one by one"
    pace.begin()
    assert pace.may_begin is many


def test_one_long_wait_among_many_short_ones_decides_nothing() -> None:
    pace = SmallPace()
    for number in range(SmallPace.TRIAL):
        pace.begin()
        pace.end(5.0 if number == 3 else 0.0004, 0.0003)
    pace.begin()
    assert not pace.may_begin


def test_a_server_that_becomes_slow_is_met_with_several_streams() -> None:
    pace = SmallPace()
    for number in range(2 * SmallPace.TRIAL):
        pace.begin()
        pace.end(0.0004 if number < SmallPace.TRIAL else 0.05, 0.0003)
    pace.begin()
    assert pace.may_begin
