"""Owns a laptop's token for a hub: where it is looked for, in which order, and that it is never printed.

Refuses a token that no header could carry, and to say any of its characters while refusing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpustack_models.core.refs import HubKind
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs import stored

_MAX_TOKEN_BYTES = 16 << 10
_TOKEN = re.compile(r"[\x21-\x7e]+")


class Token:
    """A token, and where it came from. Printed in any way it says only the latter; `reveal` is for a request's header.

    Raises GsmError(InvalidInput), naming the source, for a text that is not printable ASCII without spaces.
    """

    __slots__ = ("_value", "source")

    def __init__(self, value: str, source: str) -> None:
        if not _TOKEN.fullmatch(value):
            raise GsmError(
                Reason.INVALID_INPUT,
                f"{source}: it holds no token: {_problem(value)}",
                hint="a token is one line of letters, digits and punctuation",
            )
        self._value = value
        self.source = source

    def reveal(self) -> str:
        """The token itself. It goes into a header of a request to its hub, and nowhere else."""
        return self._value

    def __repr__(self) -> str:
        return f"Token(<redacted>, {self.source!r})"

    def __str__(self) -> str:
        return f"the token of {self.source}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a token is not serialised")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the search for a token may look at: the environment, the home directory, the time in epoch seconds."""

    environment: Mapping[str, str]
    home: Path
    now: float


def find_token(kind: HubKind, endpoint: str, around: Surroundings, file: str | Path | None = None) -> Token | None:
    """The token for a hub at an endpoint, or None: `file` (--token-file), then the environment, then what the hub's own
    log-in command stored.

    Raises GsmError(InvalidInput, NotFound) naming a file or variable that holds no usable token.
    """
    if file is not None:
        return read_token(Path(file))
    match kind:
        case HubKind.HUGGING_FACE:
            found = stored.hugging_face(around.environment, around.home, around.now)
        case HubKind.MODEL_SCOPE:
            found = stored.model_scope(around.environment, around.home, endpoint, around.now)
    return Token(found.value, found.source) if found else None


def read_token(path: Path) -> Token:
    """The token in a file, without the white space around it. Raises GsmError naming the file, never its content."""
    try:
        # Not Path.read_bytes: the size of what a pipe (`--token-file <(pass …)`) gives is unknown.
        with path.open("rb") as file:
            data = file.read(_MAX_TOKEN_BYTES + 1)
    except FileNotFoundError:
        raise GsmError(Reason.NOT_FOUND, f"the token file {path} does not exist") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", "") or "its name is not a path"
        raise GsmError(Reason.INVALID_INPUT, f"the token file {path} cannot be read: {why}") from None
    if len(data) > _MAX_TOKEN_BYTES:
        raise GsmError(Reason.INVALID_INPUT, f"the token file {path} is larger than any token")
    return Token(data.decode("utf-8", "replace").strip(" \t\r\n"), f"the file {path}")


def _problem(value: str) -> str:
    if not value:
        return "it is empty"
    if "\n" in value or "\r" in value:
        return "it has more than one line"
    if not value.isascii():
        return "it has characters beyond ASCII"
    return "it has white space or a control character inside"
