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
                row.name: TyperCommand(row.name, short_help=row.help, rich_markup_mode=None) for row in table.values()
            }

        def get_params(self, ctx: Any) -> list[Any]:
            parameters = super().get_params(ctx)
            for parameter in parameters:
                # typer gives --help and its completion flags no value, and loads pydantic to find that it is no flag.
                parameter.default = parameter.default or False
            return parameters

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
            name, stub, rest = super().resolve_command(ctx, args)
            return name, stub and load(table[args[0]]), rest

    shown = {"epilog": examples(*(row.example for row in table.values()))}
    app = typer.Typer(cls=Group, no_args_is_help=True, **{**_SETTINGS, **shown, **settings})
    app.callback()(nothing)
    return app


def single(**settings: Any) -> typer.Typer:
    """The `app` of a module that is one command; decorate its function with `app.command(epilog=examples(...))`.

    `settings` go to `typer.Typer`, for a module that has a few small commands under its name.
    """
    return typer.Typer(**{**_SETTINGS, **settings})


def load(row: Row) -> Any:
    """Import a row's module and build its command."""
    command = typer.main.get_command(import_module(row.module).app)
    command.name = row.name
    return command


def examples(*lines: str) -> str:
    """An epilog of commands that can be copied: indented, and never wrapped."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def nothing() -> None:
    """A group's callback: typer takes a module with one for a group, even of a single command."""


# Plain help: it is pasted into issues and scripts, and rich would double the time it takes.
_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}
