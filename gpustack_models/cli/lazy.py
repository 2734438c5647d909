"""Owns how commands are named before they are loaded: a table of rows, and the group that imports a row when it runs.

Refuses to import a command's module for `--help`, for completion of names, or for another command.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True, slots=True)
class Row:
    """One command: its name, the module whose `app` (a `typer.Typer`) is the command, its help line, one example."""

    name: str
    module: str
    help: str
    example: str


def group(rows: Iterable[Row], **settings: Any) -> typer.Typer:
    """A `typer.Typer` whose commands are rows, each imported when it runs. `settings` go to `typer.Typer`."""
    table = {row.name: row for row in rows}

    class Group(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            # A stub carries what a listing needs; `resolve_command` puts the real command in its place.
            self.commands = {
                row.name: TyperCommand(row.name, help=_plain(row.help), rich_markup_mode=self.rich_markup_mode)
                for row in table.values()
            }

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
            name, stub, rest = super().resolve_command(ctx, args)
            return name, stub and load(table[args[0]]), rest

    settings = {"add_completion": False, "epilog": examples(*(row.example for row in table.values())), **settings}
    app = typer.Typer(cls=Group, no_args_is_help=True, **settings)
    app.callback()(_nothing)
    return app


def load(row: Row) -> Any:
    """Import a row's module and build its command."""
    command = typer.main.get_command(import_module(row.module).app)
    command.name = row.name
    return command


def examples(*lines: str) -> str:
    """An epilog of commands that can be copied. A blank line between two keeps typer from joining them."""
    return "\n\n".join(("Examples:", *(_plain(f"  {line}") for line in lines)))


def _plain(text: str) -> str:
    # Help is rich markup: an opening bracket would begin a style.
    return text.replace("[", r"\[")


def _nothing() -> None: ...
