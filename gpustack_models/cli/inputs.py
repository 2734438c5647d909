"""Owns reading the files that a person names: a file, a folder of them, or stdin.

Refuses to guess: a folder without a YAML or JSON file, and a name that is not there, are said.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from gpustack_models.cli import stdin
from gpustack_models.core.documents import MAX_BYTES
from gpustack_models.errors import GsmError, Reason

STDIN = "-"
_SUFFIXES = (".yaml", ".yml", ".json")


def read_all(names: Sequence[str]) -> list[tuple[str, bytes]]:
    """The content of each file, by the name to call it. Folders are read recursively, in order, hidden parts left out.

    Raises GsmError(InvalidInput, NotFound, StorageFailed). No more than one byte over the limit of a file is read.
    """
    if not names:
        raise GsmError(Reason.INVALID_INPUT, "no file is named", hint="use -f FILE, -f FOLDER, or -f - for stdin")
    # A file that is named, and stands in a folder that is named too, is one file.
    return list(dict(content for name in dict.fromkeys(names) for content in _read(name)).items())


def expanded(names: Sequence[str]) -> list[str]:
    """The files that names stand for, each once: a folder stands for the YAML and JSON files below it.

    Raises GsmError(InvalidInput) for a folder without one.
    """
    return list(dict.fromkeys(file for name in names for file in _files(name)))


def _files(name: str) -> list[str]:
    path = Path(name)
    files = [str(file) for file in _below(path)] if name != STDIN and path.is_dir() else [name]
    if not files:
        raise GsmError(Reason.INVALID_INPUT, f"{name} holds no {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]} file")
    return files


def _read(name: str) -> Iterator[tuple[str, bytes]]:
    if name == STDIN:
        yield "stdin", stdin.read(MAX_BYTES + 1)
        return
    for file in _files(name):
        yield str(Path(file)), _content(Path(file))


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise GsmError(Reason.NOT_FOUND, f"{file} does not exist") from error
    except OSError as error:
        _unreadable(error)


def _unreadable(error: OSError) -> NoReturn:
    raise GsmError(Reason.STORAGE_FAILED, f"{error.filename}: {error.strerror}") from error


def _below(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder, onerror=_unreadable):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            if name.endswith(_SUFFIXES) and not name.startswith("."):
                yield Path(root, name)
