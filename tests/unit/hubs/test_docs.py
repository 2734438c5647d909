"""Owns that docs/hubs.md shows every row of the answer tables, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpustack_models.hubs import huggingface, modelscope
from gpustack_models.hubs.answers import AnswerRow
from gpustack_models.hubs.endpoints import PUBLIC, VARIABLES

PAGE = (Path(__file__).parents[3] / "docs" / "hubs.md").read_text()
TABLES = {
    "Hugging Face": huggingface.ANSWERS,
    "ModelScope": (modelscope.NO_COMMIT, *modelscope.ANSWERS),
}


@pytest.mark.parametrize(("hub", "rows"), TABLES.items(), ids=TABLES.keys())
def test_the_page_has_the_rows_of_the_code(hub: str, rows: tuple[AnswerRow, ...]) -> None:
    section = PAGE.split(f"### {hub}\n")[1].split("\n#")[0]
    shown = re.findall(r"^\| `([a-z-]+)` \|.*\| `(\w+)` \|$", section, re.MULTILINE)
    assert shown == [(row.id, row.reason.value) for row in rows]


def test_the_page_names_every_address_and_variable() -> None:
    addresses = PAGE.split("## Addresses\n")[1].split("\n## ")[0]
    for name in [*PUBLIC.values(), *(name for names in VARIABLES.values() for name in names)]:
        assert f"`{name}`" in addresses
