"""Measures starting up: `gsm --help` and `gsm --version` against the smallest typer program, in one interleaved run.

Refuses absolute promises: it prints ratios with their ranges. Run it with `python -m benchmarks.startup`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROUNDS = 25

_ONE_COMMAND = '''\
import typer

app = typer.Typer()


@app.command()
def main(name: str) -> None:
    """Say hello."""


app()
'''


def seconds(command: Sequence[str]) -> float:
    """How long one process takes, from its start to its end."""
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def measure(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    """Run all commands once per round, so that a slow moment of the machine meets each of them alike."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for round_ in range(rounds + 1):
        for name, command in commands.items():
            took = seconds(command)
            if round_:  # the first round fills the page cache
                times[name].append(took)
    return times


def table(times: Mapping[str, list[float]], base: str) -> str:
    """A Markdown table of each command's time as a multiple of the base's, round by round."""
    lines = ["| Command | Median | Range | Median time |", "| --- | --- | --- | --- |"]
    for name, taken in times.items():
        ratios = sorted(one / other for one, other in zip(taken, times[base], strict=True))
        low, high = ratios[len(ratios) // 20], ratios[-1 - len(ratios) // 20]
        lines.append(
            f"| {name} | {statistics.median(ratios):.2f} | {low:.2f} to {high:.2f} "
            f"| {statistics.median(taken) * 1000:.0f} ms |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "one.py")
        program.write_text(_ONE_COMMAND)
        base = "a typer program of one command, `--help`"
        commands = {
            base: [sys.executable, str(program), "--help"],
            "`gsm --help`": [sys.executable, "-m", "gpustack_models", "--help"],
            "`gsm resolve --help`": [sys.executable, "-m", "gpustack_models", "resolve", "--help"],
            "`gsm --version`": [sys.executable, "-m", "gpustack_models", "--version"],
        }
        print(table(measure(commands, ROUNDS), base))


if __name__ == "__main__":
    main()
