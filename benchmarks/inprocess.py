"""Owns measuring within one process: cases in interleaved rounds, as speeds relative to one of them with their ranges.

Refuses what a whole command costs, start included; `harness.py` measures that.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: seconds by the wall, and seconds of this process's processors."""

    wall: float
    cpu: float


Samples = Mapping[str, Sequence[Sample]]
Clock = Callable[[Sample], float]


def interleave(cases: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[Sample]]:
    """Run every case once a round, each round beginning with another one; the first round only warms up."""
    samples: dict[str, list[Sample]] = {case: [] for case in cases}
    names = list(cases)
    for number in range(rounds + 1):
        turn = number % len(names)
        for name in (*names[turn:], *names[:turn]):
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            kept = cases[name]()
            sample = Sample(time.perf_counter() - wall, time.process_time() - cpu)
            del kept
            if number:
                samples[name].append(sample)
    return samples


def table(samples: Samples, base: str) -> str:
    """A Markdown table of each case's speed as a multiple of the base's, round by round: above 1 is faster than it."""
    lines = [
        "| Case | Speed by the wall | Speed by the processor | Wall | Processor |",
        "| --- | --- | --- | --- | --- |",
    ]
    for case, taken in samples.items():
        cells = [_spread(_ratios(samples, case, base, clock)) for clock in (_wall, _cpu)]
        cells += [f"{statistics.median(map(clock, taken)) * 1000:.0f} ms" for clock in (_wall, _cpu)]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _ratios(samples: Samples, case: str, base: str, clock: Clock) -> list[float]:
    return [clock(slow) / clock(fast) for slow, fast in zip(samples[base], samples[case], strict=True)]


def _wall(sample: Sample) -> float:
    return sample.wall


def _cpu(sample: Sample) -> float:
    return sample.cpu


def _spread(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
