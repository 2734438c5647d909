"""Owns the files that a person names: read whole and bounded, replaced whole or not at all.

Refuses to read without a bound, and to leave half a file.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gpustack_models.errors import GsmError, Reason

STDIN = "-"
MAX_FILE = 32 << 20


def bytes_of(file: str, stdin: Callable[[], bytes]) -> bytes:
    """The bytes of a file; `-` is what `stdin` gives. Raises GsmError(NotFound, InvalidInput, StorageFailed)."""
    if file == STDIN:
        return stdin()
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(MAX_FILE + 1)
    except FileNotFoundError as error:
        raise GsmError(Reason.NOT_FOUND, f"{file} does not exist") from error
    except IsADirectoryError as error:
        raise GsmError(Reason.INVALID_INPUT, f"{file} is a directory", hint=f"name its files: {file}/*.yaml") from error
    except OSError as error:
        raise GsmError(Reason.STORAGE_FAILED, f"{file} cannot be read: {error.strerror}") from error
    if len(data) > MAX_FILE:
        raise GsmError(Reason.INVALID_INPUT, f"{file} is larger than {MAX_FILE >> 20} MiB")
    return data


def text_of(file: str, stdin: Callable[[], bytes]) -> str:
    """The text of a file, its line ends as they are. Raises as `bytes_of`."""
    try:
        return bytes_of(file, stdin).decode()
    except UnicodeDecodeError as error:
        raise GsmError(Reason.INVALID_INPUT, f"{file} is not UTF-8 text") from error


def replace_file(path: Path, data: bytes) -> None:
    """Put new bytes in a file's place, all or nothing; its mode and owner stay, and a link stays a link.

    Raises GsmError(StorageFailed).
    """
    try:
        real = path.resolve(strict=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
                out.flush()
                known = real.stat()
                os.fchmod(handle, stat.S_IMODE(known.st_mode))
                with suppress(PermissionError):  # only root may give a file away
                    os.fchown(handle, known.st_uid, known.st_gid)
                os.fsync(handle)
            os.replace(temporary, real)  # noqa: PTH105
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108
            raise
    except OSError as error:
        raise GsmError(Reason.STORAGE_FAILED, f"{path} cannot be written: {error.strerror}") from error
