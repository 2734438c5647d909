"""Owns the one small protocol that both hubs speak to the rest of the program.

Refuses anything that only one hub has.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from gpustack_models.core.location import Location
from gpustack_models.core.manifest import Entry
from gpustack_models.core.refs import HubKind

#: Called while a listing is read, with the entries read so far.
ListingProgress = Callable[[int], None]


class TokenState(StrEnum):
    """What a hub says of a token. A rejected one is silently ignored on public repositories, so it is asked for."""

    ABSENT = "Absent"
    ACCEPTED = "Accepted"
    REJECTED = "Rejected"


class Hub(Protocol):
    """One hub, with one credential (or none). Every method raises GsmError with a reason of hubs.md."""

    kind: HubKind
    endpoint: str

    def resolve(self, repository: str, revision: str) -> str:
        """The commit a branch, tag or commit names now: 40 lowercase hex."""
        ...

    def list(self, repository: str, commit: str, progress: ListingProgress | None = None) -> tuple[Entry, ...]:
        """Every file of a commit, unfiltered, in the hub's order."""
        ...

    def check_access(self, repository: str, commit: str, path: str | None = None) -> None:
        """One request for one file at the commit (the first at the root when `path` is None); returns when readable."""
        ...

    def check_token(self) -> TokenState:
        """Whether the hub knows the token."""
        ...

    def locate(self, repository: str, commit: str, path: str) -> Location:
        """Where a file's bytes are; no request is sent."""
        ...
