"""Owns what an answer to a request for bytes means: which bytes its body holds, or why it may not be trusted.

Refuses sockets: a status and headers come in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack_models.core.pacing import asked_pause
from gpustack_models.errors import GsmError, Reason

REDIRECTS = frozenset({301, 302, 303, 307, 308})

_CONTENT_RANGE = re.compile(r"bytes\s+(?:(\d{1,19})-(\d{1,19})|\*)/(\d{1,19}|\*)")
_NUMBER = re.compile(r"\d{1,19}")
#: What a hub's own endpoint says when it refuses the credential, the repository or the file (hubs.md).
_REFUSALS = frozenset({401, 403, 404, 410, 451})
_TOO_MUCH = frozenset({429, 503})


class ThrottledError(GsmError):
    """The host says that it is asked too much: fewer requests at once will bring more."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The bytes [start, end) of a file of `size` bytes; `at_home` when the credential's own endpoint answers."""

    start: int
    end: int
    size: int
    at_home: bool = True

    @property
    def whole(self) -> bool:
        """Whether all of the file is asked for, so that no Range is sent."""
        return self.start == 0 and self.end == self.size

    @property
    def range(self) -> str:
        """The value of the Range header."""
        return f"bytes={self.start}-{self.end - 1}"


@dataclass(frozen=True, slots=True)
class Given:
    """What the body holds: the bytes [start, end) of the file, and the validator of this content ("" when none)."""

    start: int
    end: int
    etag: str


def judge(asked: Asked, status: int, headers: Mapping[str, str], now: float) -> Given:
    """What the body of an answer holds. `headers` are looked up by their lowercase names; `now` is the wall clock's.

    Raises GsmError: AccessDenied for a refusal, IntegrityMismatch for a file of another size, SourceUnavailable for all
    that may pass; ThrottledError, with `retry_after` when the server says so, for being asked too much.
    """
    if status == 416:
        _check_total(asked, _content_range(headers)[2] if "content-range" in headers else None)
    if status in _REFUSALS and asked.at_home:
        raise GsmError(Reason.ACCESS_DENIED, f"it answered {status}: the file does not exist or is not accessible")
    if status in _TOO_MUCH:
        raise ThrottledError(
            Reason.SOURCE_UNAVAILABLE, f"it answered {status}", retry_after=asked_pause(status, headers, now)
        )
    if status not in (200, 206):
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"it answered {status}")
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise GsmError(Reason.SOURCE_UNAVAILABLE, "it answered with a content encoding that was not asked for")
    start, end = _part(asked, headers) if status == 206 else _whole(asked, headers)
    return Given(start, end, headers.get("etag", "").strip())


def _whole(asked: Asked, headers: Mapping[str, str]) -> tuple[int, int]:
    length = headers.get("content-length", "").strip()
    if _NUMBER.fullmatch(length):
        _check_total(asked, int(length))
    return 0, asked.size


def _part(asked: Asked, headers: Mapping[str, str]) -> tuple[int, int]:
    first, last, total = _content_range(headers)
    _check_total(asked, total)
    if first != asked.start or last is None or not asked.start <= last < asked.end:
        got = headers.get("content-range", "no range")[:80]
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"it was asked for {asked.range} and answered {got!r}")
    return first, last + 1


def _content_range(headers: Mapping[str, str]) -> tuple[int | None, int | None, int | None]:
    match = _CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
    first, last, total = match.groups() if match else (None, None, None)
    numbers = (int(text) if text and text != "*" else None for text in (first, last, total))
    return next(numbers), next(numbers), next(numbers)


def _check_total(asked: Asked, total: int | None) -> None:
    if total is not None and total != asked.size:
        raise GsmError(Reason.INTEGRITY_MISMATCH, f"it serves {total} bytes, and the manifest says {asked.size}")
