"""Owns printing: data on stdout, talk on stderr, progress only on a terminal; the only place that prints.

Refuses to decide what is printed; a command hands it values and text.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

import typer

from gpustack_models.errors import GsmError, Reason

#: What a shell reports of a process whose reader went away (128 + SIGPIPE).
BROKEN_PIPE_EXIT_STATUS = 141

#: Adds to a running progress: bytes, entries, whatever its unit is.
Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Output:
    """Where a command speaks. `quiet` keeps data, warnings and errors, and drops notes and progress."""

    quiet: bool = False

    def data(self, text: str) -> None:
        """Text for stdout, as it is; a missing final line feed is added."""
        self.raw((text if text.endswith("\n") or not text else text + "\n").encode("utf-8", "surrogateescape"))

    def raw(self, data: bytes) -> None:
        """Bytes for stdout, as they are (a canonical manifest is bytes)."""
        if _is_closed(sys.stdout):
            return
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            _reader_went_away()
        except OSError as error:
            _discard(sys.stdout)
            raise GsmError(Reason.STORAGE_FAILED, f"standard output cannot be written: {error.strerror}") from error

    def json(self, value: Any) -> None:
        """A value for stdout as JSON, indented by two."""
        self.data(json_text(value))

    def yaml(self, *documents: Any) -> None:
        """Values for stdout as YAML documents."""
        from gpustack_models.cli.yamltext import dump

        self.data("---\n".join(dump(document) for document in documents))

    def document(self, form: str, value: Any) -> None:
        """A value for stdout in a machine format, "json" or "yaml"."""
        (self.yaml if form == "yaml" else self.json)(value)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows for stdout in aligned columns, never cut: what is piped must stay whole."""
        lines = [tuple(header), *(tuple(printable(cell) for cell in row) for row in rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
        self.data("".join(_aligned(line, widths) for line in lines))

    def fields(self, fields: Sequence[tuple[str, str]]) -> None:
        """One object for stdout: a name and its value per line."""
        width = max(len(name) for name, _ in fields)
        self.data("".join(f"{name.ljust(width)}  {printable(value)}\n" for name, value in fields))

    def note(self, text: str) -> None:
        """What is happening, on stderr; dropped when quiet."""
        if not self.quiet:
            _talk(text)

    def warn(self, text: str) -> None:
        """Something the person must know although the command goes on, on stderr."""
        _talk(text, "warning:", "yellow")

    def error(self, error: GsmError) -> None:
        """An error and its next step, on stderr."""
        report(error.message, error.hint)

    @contextmanager
    def progress(self, title: str, total: int | None = None, *, unit: str = "bytes") -> Iterator[Advance]:
        """A bar with rate and time left on a terminal, nothing elsewhere. `unit` is "bytes" or a plural noun."""
        if self.quiet or _is_closed(sys.stderr) or not sys.stderr.isatty():
            yield lambda _amount: None
            return
        from gpustack_models.cli.bars import bar

        with bar(title, total, unit) as advance:
            yield advance


def report(message: str, hint: str = "") -> None:
    """An error on stderr, for the boundary, which has no command's settings."""
    _talk(message, "error:", "red")
    if hint:
        _talk(hint, "hint:", "cyan")


def printable(text: str) -> str:
    """One line that is safe on a terminal: names from a hub or a disk may hold what would write to it elsewhere."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


def counted(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def json_text(value: Any) -> str:
    """A value as JSON that is safe on a terminal: what is not printable is escaped, as JSON can."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text)


def size_text(size: int) -> str:
    """Bytes as a person reads them, the exact number first."""
    value, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{size} B" if unit == "B" else f"{size} ({value:.1f} {unit})"


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n"


def _styled(text: str, color: str) -> str:
    plain = not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else typer.style(text, fg=color, bold=True)


def _talk(text: str, label: str = "", color: str = "") -> None:
    if _is_closed(sys.stderr):
        return
    safe = "\n".join(printable(line) for line in text.split("\n"))
    try:
        print(f"{_styled(label, color)} {safe}" if label else safe, file=sys.stderr, flush=True)  # noqa: T201
    except BrokenPipeError:
        _reader_went_away()
    except OSError:
        _discard(sys.stderr)  # a full disk takes no talk; the work and its status are not about that


def _is_closed(stream: TextIO | None) -> bool:
    # A process that was started with `>&-` has no stream at all.
    return stream is None


def _reader_went_away() -> NoReturn:
    _discard(sys.stdout, sys.stderr)
    raise typer.Exit(BROKEN_PIPE_EXIT_STATUS)


def _discard(*streams: TextIO) -> None:
    # The interpreter flushes its streams on its way out, and must find ones that take what is left.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream.fileno())
