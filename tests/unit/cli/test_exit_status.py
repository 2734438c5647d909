"""Owns the agreement between docs/exit-status.md and the code, both ways."""

from __future__ import annotations

import re
from pathlib import Path

from gpustack_models.cli import app, output
from gpustack_models.errors import INTERRUPTED_EXIT_STATUS, MEANINGS, Reason

_DOCUMENT = (Path(__file__).parents[3] / "docs" / "exit-status.md").read_text()
_ROW = re.compile(r"^\| (\d+) \| `(\w+)` \|", re.MULTILINE)
_PLAIN_ROW = re.compile(r"^\| (\d+) \| [^`|]", re.MULTILINE)


def test_every_reason_stands_in_the_table_with_its_status() -> None:
    documented = {name: int(status) for status, name in _ROW.findall(_DOCUMENT)}
    assert documented == {reason.value: meaning.exit_status for reason, meaning in MEANINGS.items()}


def test_every_reason_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Reason)


def test_the_statuses_without_a_reason() -> None:
    assert [int(status) for status in _PLAIN_ROW.findall(_DOCUMENT)] == [
        0,
        app.USAGE_EXIT_STATUS,
        app.DEFECT_EXIT_STATUS,
        INTERRUPTED_EXIT_STATUS,
        output.BROKEN_PIPE_EXIT_STATUS,
        app.TERMINATED_EXIT_STATUS,
    ]


def test_a_status_of_its_own_for_every_kind_of_reason() -> None:
    # Both reasons of a command line that cannot be taken are usage; every other reason can be told apart.
    statuses = [meaning.exit_status for reason, meaning in MEANINGS.items() if reason is not Reason.INVALID_INPUT]
    assert len(statuses) == len(set(statuses))
