"""Owns that docs/engines.md shows the tables as they are. `reference.within` writes them anew."""

from __future__ import annotations

from pathlib import Path

from gpustack_models.core.engines import reference
from gpustack_models.core.engines.catalogue import ENGINES

DOCUMENT = Path(__file__).parents[4] / "docs" / "engines.md"


def test_the_document_has_the_tables_as_they_are() -> None:
    text = DOCUMENT.read_text()
    assert reference.within(text) == text


def test_every_row_is_in_the_tables() -> None:
    tables = reference.tables()
    for engine in ENGINES.values():
        for identifier in [row.id for row in engine.flags] + [row.id for row in engine.variables]:
            assert f"| `{identifier}` |" in tables
