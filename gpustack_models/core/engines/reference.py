"""Owns the engines' tables as Markdown, for docs/engines.md.

Refuses words of its own about a row; they are the row's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpustack_models.core.engines.catalogue import ENGINES
from gpustack_models.core.engines.model import Engine, OwnedFlag, OwnedVariable

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
_BY = {True: "specification", False: "this project"}


def tables() -> str:
    """Every row of every engine, then the variables, as Markdown tables."""
    return "\n".join([*(line for engine in ENGINES.values() for line in _flags(engine)), *_variables()]) + "\n"


def _flags(engine: Engine) -> Iterator[str]:
    yield f"### {engine.name}: options"
    yield ""
    yield from _table(("Rule", "Option", "Owned by", "Why", "By"), [_flag(row) for row in engine.flags])
    yield ""


def _flag(row: OwnedFlag) -> tuple[str, ...]:
    names = ", ".join(f"`{name}…`" if name.endswith("-") else f"`{name}`" for name in row.spellings)
    values = " with " + ", ".join(f"`{value}`" for value in sorted(row.values)) if row.values else ""
    return f"`{row.id}`", names + values, f"`{row.owner}`", row.why, _BY[row.by_specification]


def _variables() -> Iterator[str]:
    rows: dict[str, OwnedVariable] = {row.name: row for engine in ENGINES.values() for row in engine.variables}
    readers = {
        name: [engine.name for engine in ENGINES.values() if any(row.name == name for row in engine.variables)]
        for name in rows
    }
    yield "### Environment"
    yield ""
    body = [
        (f"`{row.id}`", f"`{row.name}`", ", ".join(readers[row.name]), row.why, _BY[row.by_specification])
        for row in rows.values()
    ]
    yield from _table(("Rule", "Variable", "Engines", "Why", "By"), body)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def within(document: str) -> str:
    """A document with the tables between its two marks written anew."""
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"
