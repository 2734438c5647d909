"""Owns the short form of the kill -9 run; `make torture` is the long one."""

from __future__ import annotations

import time
from pathlib import Path

from tests.integration.store.torture import summary, torture

RUNS = 10


def test_killed_at_any_instant(tmp_path: Path) -> None:
    seed = time.time_ns() % 1_000_000
    told: list[str] = []
    with torture(tmp_path, seed, told.append) as one:
        for number in range(1, RUNS + 1):
            one.run(number)
    print(summary(one.tally, RUNS, seed), *told, sep="\n")
    assert one.tally.pulls == RUNS
    assert one.tally.kills >= RUNS // 2
