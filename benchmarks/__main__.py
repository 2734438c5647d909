"""Runs benchmarks by name, or all of them, and writes their tables into docs/performance.md.

Refuses to judge: the tables speak.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import platform
from pathlib import Path

from benchmarks.harness import note, write_section
from benchmarks.material import ROOT
from gpustack_models.store.hashing import available_cores

#: Each is a module here with `run(rounds) -> str` and `ROUNDS`.
NAMES = ("hashing", "listing", "download", "store", "startup", "validating")
PAGE = ROOT / "docs" / "performance.md"


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure, as ratios with their ranges.")
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help=f"of {', '.join(NAMES)}; all when none is named")
    parser.add_argument("--rounds", type=int, help="interleaved rounds beyond the first, which warms up")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the tables go")
    arguments = parser.parse_args()
    for name in arguments.names or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        rounds = arguments.rounds or module.ROUNDS
        note(f"{name}, {rounds} rounds")
        text = module.run(rounds)
        told = f"`python -m benchmarks {name} --rounds {rounds}`, {_machine()}, {datetime.date.today().isoformat()}."
        write_section(arguments.page, name, f"{text}\n\n{told}")
        print(text)


def _machine() -> str:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return f"{available_cores()} cores of {model}, Python {platform.python_version()}, Linux {platform.release()}"


if __name__ == "__main__":
    main()
