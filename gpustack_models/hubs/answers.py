"""Owns the shape of the hubs' answer tables: which status and code of an answer means which reason.

Refuses the rows themselves; each hub has its own.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from gpustack_models.core.manifest import Entry
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.http import Answer

#: Said of every refusal: a repository that is missing and one that is hidden answer alike (hubs.md).
NOT_ACCESSIBLE = "does not exist or is not accessible"

SERVER_ERRORS = range(500, 600)

Decoded = TypeVar("Decoded")


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One row of a table. None matches everything; `says` follows the reference's name and may hold `{status}`."""

    id: str
    reason: Reason
    says: str
    statuses: Container[int] | None = None
    codes: Container[str | int | None] | None = None

    def matches(self, status: int, code: str | int | None) -> bool:
        """Whether an answer is this row's."""
        return (self.statuses is None or status in self.statuses) and (self.codes is None or code in self.codes)


def row_of(rows: Iterable[AnswerRow], status: int, code: str | int | None) -> AnswerRow:
    """The first row of an answer; the tables end with one for everything."""
    return next(row for row in rows if row.matches(status, code))


def refused(name: str, row: AnswerRow, answer: Answer, status: int, hint: str = "") -> GsmError:
    """The error of an answer that is no success; `status` is the one its row was found by."""
    message = f"{name}: {row.says.format(status=status)}"
    return GsmError(row.reason, message, hint=hint, retry_after=answer.retry_after)


def unreadable(name: str, what: str) -> GsmError:
    """The error of an answer that is not what the hub's interface promises: SourceUnavailable (hubs.md)."""
    return GsmError(
        Reason.SOURCE_UNAVAILABLE,
        f"{name}: the hub's answer cannot be read: {what}",
        hint="is the endpoint a hub of this kind, and is nothing in between answering for it?",
    )


def decoded(decoder: msgspec.json.Decoder[Decoded], body: bytes | msgspec.Raw, name: str, what: str) -> Decoded:
    """Decode a body by its type. Raises GsmError(SourceUnavailable) saying what was expected and where it is not."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(name, f"it is not {what} ({error})") from error


def first_file(entries: Iterable[Entry]) -> str | None:
    """The first path by its bytes, or None when there is none."""
    return min((entry.path for entry in entries), default=None)
