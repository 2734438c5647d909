"""Owns running `gsm` as a person does: a process, with an environment of its own and nothing of this machine's.

Refuses to call the program's functions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from gpustack_models.hub_server import LocalHub

COMMAND = (sys.executable, "-m", "gpustack_models")


@dataclass(frozen=True)
class Ran:
    """What one process answered."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its standard output as JSON."""
        return json.loads(self.out)


class Gsm(Protocol):
    """Runs `gsm` and waits for it."""

    def __call__(
        self,
        *arguments: object,
        hub: LocalHub | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | bytes = "",
        cwd: Path | None = None,
    ) -> Ran: ...


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory without any token."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """The least environment; no endpoint of the outside can be reached by accident."""
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "HF_ENDPOINT": nowhere,
        "MODELSCOPE_ENDPOINT": nowhere,
    }


@pytest.fixture
def gsm(environment: dict[str, str]) -> Gsm:
    """`gsm("resolve", "org/repo", hub=hub)` is what a person types."""

    def run(
        *arguments: object,
        hub: LocalHub | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | bytes = "",
        cwd: Path | None = None,
    ) -> Ran:
        endpoints = {"HF_ENDPOINT": hub.url, "MODELSCOPE_ENDPOINT": hub.url} if hub else {}
        done = subprocess.run(
            [*COMMAND, *(str(argument) for argument in arguments)],
            env={**environment, **endpoints, **(env or {})},
            input=stdin if isinstance(stdin, bytes) else stdin.encode(),
            capture_output=True,
            cwd=cwd,
            timeout=120,
            check=False,
        )
        ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in ran.err
        return ran

    return run
