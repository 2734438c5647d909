"""Owns starting `gsm` processes fast: everything is imported once, and each command is a fork of that process.

Refuses threads in the one that forks, so that a fork is as good as a new process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self


class Zygote:
    """Runs commands one after the other, each a process of its own, with the environment given and no other."""

    def __init__(self, folder: Path) -> None:
        self.out, self.err = folder / "out", folder / "err"
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def start(self, environment: Mapping[str, str], *arguments: str) -> int:
        """Start `gsm`; returns its process id."""
        assert self._process.stdin is not None
        order = {
            "arguments": arguments,
            "environment": dict(environment),
            "out": str(self.out),
            "err": str(self.err),
        }
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def end(self) -> int:
        """Wait for the last one started; returns its exit status, or minus the signal that ended it."""
        return self._answer()

    def run(self, environment: Mapping[str, str], *arguments: str) -> int:
        """Start, and wait."""
        self.start(environment, *arguments)
        return self.end()

    def _answer(self) -> int:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the zygote died"
        return int(line)


def main() -> None:
    """Read a command a line; fork for each; print its process id, then its exit status."""
    # Whatever a command would import while it runs is imported here, once.
    from gpustack_models.cli import app, asking, folders  # noqa: F401
    from gpustack_models.cli.node_store import (  # noqa: F401
        export,
        gc,
        import_,
        log,
        ls,
        path,
        pin,
        pull,
        pulling,
        repairing,
        rm,
        show,
        status,
        unpin,
        verify,
    )
    from gpustack_models.hubs import huggingface, modelscope, open, tokens  # noqa: F401
    from gpustack_models.store import exporting, importing, materialize, models, scrub  # noqa: F401
    from gpustack_models.workflows import adopt, mend  # noqa: F401

    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os.environ.clear()
            os.environ.update(order["environment"])
            for stream, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), stream)
            os._exit(app.run(order["arguments"]))
        print(child, flush=True)
        _, ended = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(ended), flush=True)


if __name__ == "__main__":
    main()
