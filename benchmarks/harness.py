"""Owns how anything is measured here: named cases in interleaved rounds, as ratios with their ranges.

Refuses single runs and absolute promises: a slow moment of the machine has to meet every case alike.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
GB = 1_000_000_000


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Case:
    """One way to do the work: a command, its environment beside the usual one, what to clear before each run."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], None] = _nothing


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of a case took: wall and processor seconds of all its processes, the largest one's peak memory."""

    wall: float
    cpu: float
    peak_bytes: int


def run_once(case: Case) -> Run:
    """Run a case to its end. Raises RuntimeError with the end of its output when it fails."""
    case.prepare()
    environment = {**os.environ, **case.environment}
    log = Path(f"/tmp/gsm-bench-{os.getpid()}.log")
    with log.open("w+b") as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            case.command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    text = log.read_text(errors="replace")
    log.unlink()
    if process.returncode:
        raise RuntimeError(f"{case.name}: exit status {process.returncode}: {text[-2000:]}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def measure(cases: Sequence[Case], rounds: int) -> dict[str, list[Run]]:
    """Run every case once per round, each round beginning with another one; the first round only warms up."""
    runs: dict[str, list[Run]] = {case.name: [] for case in cases}
    for number in range(rounds + 1):
        turn = number % len(cases)
        for case in (*cases[turn:], *cases[:turn]):
            one = run_once(case)
            note(f"  {case.name}: {one.wall:.2f} s, {one.cpu:.2f} s of processor, {one.peak_bytes / MIB:.0f} MiB")
            if number:
                runs[case.name].append(one)
    return runs


def table(runs: Mapping[str, Sequence[Run]], base: str, *, size: int = 0) -> str:
    """A Markdown table. The ratios are each case's time over the base's, round by round: above 1 is slower than it.

    `size` is the bytes of work: with it, processor seconds are per GB.
    """
    unit = "Processor s per GB" if size else "Processor s"
    lines = [
        f"| Case | Time over the first | Range | Median s | {unit} | Peak MiB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, taken in runs.items():
        ratios = [one.wall / other.wall for one, other in zip(taken, runs[base], strict=True)]
        cpu = statistics.median(one.cpu for one in taken) * (GB / size if size else 1)
        lines.append(
            f"| {name} | {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} "
            f"| {statistics.median(one.wall for one in taken):.2f} | {cpu:.2f} "
            f"| {max(one.peak_bytes for one in taken) / MIB:.0f} |"
        )
    return "\n".join(lines)


@dataclass(frozen=True)
class Interleaved:
    """What functions took, in seconds, round by round."""

    seconds: Mapping[str, Sequence[float]]

    def table(self, base: str) -> str:
        """A Markdown table of each one's speed over the base's, round by round: above 1 is faster than it."""
        lines = ["| Case | Speed over the base | Range | Median ms |", "| --- | --- | --- | --- |"]
        for name, taken in self.seconds.items():
            ratios = [other / one for one, other in zip(taken, self.seconds[base], strict=True)]
            lines.append(
                f"| {name} | {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} "
                f"| {statistics.median(taken) * 1000:.1f} |"
            )
        return "\n".join(lines)


def interleave(cases: Mapping[str, Callable[[], object]], rounds: int) -> Interleaved:
    """Run every function once per round in this process, each round beginning with another; the first warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    names = list(cases)
    for number in range(rounds + 1):
        turn = number % len(names)
        for name in (*names[turn:], *names[:turn]):
            began = time.perf_counter()
            cases[name]()
            took = time.perf_counter() - began
            if number:
                seconds[name].append(took)
    return Interleaved(seconds)


def note(text: str) -> None:
    """Say what happens, beside the data."""
    print(text, file=sys.stderr, flush=True)


def write_section(page: Path, name: str, text: str) -> None:
    """Put a benchmark's section between its markers on a page; a new one goes to the end."""
    begin, end = f"<!-- benchmark: {name} -->", f"<!-- end: {name} -->"
    section = f"{begin}\n{text.strip()}\n{end}"
    old = page.read_text() if page.exists() else "# Performance\n"
    if begin in old and end in old:
        before, _, rest = old.partition(begin)
        new = before + section + rest.partition(end)[2]
    else:
        new = f"{old.rstrip()}\n\n{section}\n"
    page.write_text(new)
