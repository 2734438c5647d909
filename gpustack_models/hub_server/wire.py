"""Owns the local hub's requests and answers as plain values: what was asked, by whom, and what goes back.

Refuses sockets; `app.py` turns them into bytes on a connection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qs, unquote


class Origin(StrEnum):
    """Which of the two servers was asked: the hub itself, or the CDN that LFS bytes are redirected to."""

    HUB = "hub"
    CDN = "cdn"


class TokenState(StrEnum):
    """What the tokens file says of the credential of a request."""

    ABSENT = "absent"
    REJECTED = "rejected"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the user's name for an accepted token, an empty one otherwise."""

    state: TokenState = TokenState.ABSENT
    name: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `segments` is the path split at its slashes, then decoded: `refs%2Fpr%2F1` is one segment."""

    method: str
    segments: tuple[str, ...]
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    caller: Caller = Caller()
    origin: Origin = Origin.HUB
    base: str = ""

    @property
    def path(self) -> str:
        """The decoded path, with its leading slash."""
        return "/" + "/".join(self.segments)

    def flag(self, name: str) -> bool:
        """Whether a query parameter says yes, in any of the spellings that clients use."""
        return self.query.get(name, "").lower() in {"1", "true", "yes"}

    def number(self, name: str, default: int) -> int:
        """A query parameter as a number, or the default when it is none."""
        text = self.query.get(name, "")
        return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else default


@dataclass(frozen=True, slots=True)
class FileKey:
    """Which bytes a file held when it was looked at: another size, time or inode is another file."""

    path: str
    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class FilePart:
    """`count` bytes of a file from `start`."""

    file: FileKey
    start: int
    count: int


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; header names are as they go on the wire, each once."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | FilePart = b""

    @property
    def length(self) -> int:
        """How many bytes the body has."""
        return self.body.count if isinstance(self.body, FilePart) else len(self.body)

    def with_headers(self, **headers: str) -> Answer:
        """The same with headers set; an underscore in a name stands for a hyphen."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **named})


def header_text(text: str) -> str:
    """Any text as a header can carry it: visible ASCII, the rest escaped."""
    escaped = text.encode("ascii", "backslashreplace").decode()
    return re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\x{ord(match[0]):02x}", escaped)


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """A JSON body."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return Answer(status, {"Content-Type": "application/json; charset=utf-8", **(headers or {})}, body)


def text_answer(text: str, status: int) -> Answer:
    """A plain text body."""
    return Answer(status, {"Content-Type": "text/plain; charset=utf-8"}, text.encode())


def split_target(raw_path: bytes, query: bytes) -> tuple[tuple[str, ...], dict[str, str]]:
    """Decode a request target: the path's segments, each decoded on its own, and the query's first values."""
    segments = raw_path.decode("latin-1").lstrip("/").split("/")
    pairs = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    return tuple(unquote(segment) for segment in segments), {name: values[0] for name, values in pairs.items()}
