"""Owns the agreement between docs/commands.md and the commands: every one is there, with every option of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpustack_models.cli import lazy
from gpustack_models.cli.app import COMMANDS

_DOCUMENT = (Path(__file__).parents[3] / "docs" / "commands.md").read_text()
_HERE = [row for row in COMMANDS if row.name in ("resolve", "digest", "verify", "hub")]


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row.name)
def test_every_command_is_named(row: lazy.Row) -> None:
    assert f"gsm {row.name}" in _DOCUMENT


def options(command: Any) -> Iterator[str]:
    for parameter in command.params:
        yield from (name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("--"))
    for child in getattr(command, "commands", {}).values():
        yield from options(child)


#: Said once, at the top, or by their twin.
_ELSEWHERE = {"--redirect", "--file", "--output"}


@pytest.mark.parametrize("row", _HERE, ids=lambda row: row.name)
def test_every_option_is_documented(row: lazy.Row) -> None:
    known = set(options(lazy.load(row))) - _ELSEWHERE
    assert known
    assert {name for name in known if name not in _DOCUMENT} == set()
