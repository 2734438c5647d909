"""Measures starting up: what `gsm` costs before it does anything, against the smallest typer program.

Refuses to time anything but whole processes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.harness import Case, measure, table

ROUNDS = 25
BASE = "a typer program of one command, `--help`"

_ONE_COMMAND = '''\
import typer

app = typer.Typer()


@app.command()
def main(name: str) -> None:
    """Say hello."""


app()
'''


def run(rounds: int) -> str:
    """The section: a heading and its table."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "one.py")
        program.write_text(_ONE_COMMAND)
        gsm = (sys.executable, "-m", "gpustack_models")
        (Path(folder, "model")).mkdir()
        Path(folder, "model", "config.json").write_text("{}")
        cases = (
            Case(BASE, (sys.executable, str(program), "--help")),
            Case("the same, doing nothing", (sys.executable, str(program), "x")),
            Case("`gsm --help`", (*gsm, "--help")),
            Case("`gsm resolve --help`", (*gsm, "resolve", "--help")),
            Case("`gsm --version`", (*gsm, "--version")),
            Case("`gsm digest` of one small file", (*gsm, "digest", "--sha256", str(Path(folder, "model")))),
        )
        return "## Starting up\n\n" + table(measure(cases, rounds), BASE)
