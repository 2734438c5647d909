"""Owns the examples: where they lie, the command and exit status that each says of itself, writing their output anew.

Refuses an example that names no command. `python -m tests.examples` writes every golden file; look at the difference.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples"
#: Not a .yaml: `gsm validate -f examples/` judges what a person writes, and this is written by the program.
GOLDEN = "rendered.golden"

_COMMAND = re.compile(r"^#   gsm (render .+)$", re.MULTILINE)
_STATUS = re.compile(r"exit status (\d+)")


@dataclass(frozen=True)
class Example:
    """One folder of examples/."""

    name: str
    arguments: tuple[str, ...]
    status: int
    golden: Path

    def run(self) -> subprocess.CompletedProcess[bytes]:
        """The example's command, as a process, from the root of the project."""
        command = [sys.executable, "-m", "gpustack_models", *self.arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, check=False)


def every() -> list[Example]:
    """All examples, by name."""
    return [_read(path) for path in sorted(FOLDER.glob("*/input.yaml"))]


def _read(path: Path) -> Example:
    head = path.read_text().partition("\n\n")[0]
    command = _COMMAND.search(head)
    if command is None:
        raise ValueError(f"{path} does not say its command in a comment at its top")
    status = _STATUS.search(head.partition("apiVersion")[0])
    return Example(
        path.parent.name,
        tuple(shlex.split(command[1])),
        int(status[1]) if status else 0,
        path.parent / GOLDEN,
    )


if __name__ == "__main__":
    for example in every():
        done = example.run()
        if done.returncode != example.status:
            sys.exit(f"{example.name}: exit status {done.returncode}\n{done.stderr.decode()}")
        example.golden.write_bytes(done.stdout)
