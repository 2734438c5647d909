"""Owns the one error root, the reasons of the specification and what each means to a caller.

Refuses any error without a reason: a bare exception that reaches a user is a defect.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why something ended. One enumeration for conditions, exit statuses and exceptions (hubs.md, node-store.md)."""

    # How a resolution can end (hubs.md, "Reasons a resolution can end with").
    RESOLVED = "Resolved"
    REVISION_NOT_FOUND = "RevisionNotFound"
    ACCESS_DENIED = "AccessDenied"
    SOURCE_UNAVAILABLE = "SourceUnavailable"
    SECRET_NOT_FOUND = "SecretNotFound"  # noqa: S105 - a reason, not a credential
    CLAIM_NOT_FOUND = "ClaimNotFound"
    EMPTY_MANIFEST = "EmptyManifest"
    INVALID_MANIFEST = "InvalidManifest"
    MANIFEST_TOO_LARGE = "ManifestTooLarge"
    DIGEST_MISMATCH = "DigestMismatch"
    # How an attempt in the node store can end (node-store.md, "An attempt").
    INVALID_REQUEST = "InvalidRequest"
    INTEGRITY_MISMATCH = "IntegrityMismatch"
    INSUFFICIENT_CAPACITY = "InsufficientCapacity"
    CANCELED = "Canceled"
    # What only a command line or a library caller can meet.
    INVALID_REFERENCE = "InvalidReference"
    INVALID_INPUT = "InvalidInput"
    NOT_FOUND = "NotFound"
    MISSING_EXTRA = "MissingExtra"
    STORE_LOCKED = "StoreLocked"
    UNKNOWN_FORMAT = "UnknownFormat"
    STORAGE_FAILED = "StorageFailed"
    REFUSED = "Refused"
    NOTHING_RENDERED = "NothingRendered"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a reason means to a caller: a process exit status, whether asking again may help, a gRPC status name."""

    exit_status: int
    retryable: bool = False
    grpc: str = "INTERNAL"


#: Exit statuses: 0 success, 1 a check said no, 2 usage, 3 nothing may be rendered, 10-19 a resolution, 20-29 the store,
#: 30-39 this machine, 130 interrupted. Documented in docs/exit-status.md; a test holds the two together.
MEANINGS: dict[Reason, Meaning] = {
    Reason.RESOLVED: Meaning(0, grpc="OK"),
    Reason.REFUSED: Meaning(1, grpc="PERMISSION_DENIED"),
    Reason.INVALID_REFERENCE: Meaning(2, grpc="INVALID_ARGUMENT"),
    Reason.INVALID_INPUT: Meaning(2, grpc="INVALID_ARGUMENT"),
    Reason.NOTHING_RENDERED: Meaning(3, grpc="FAILED_PRECONDITION"),
    Reason.REVISION_NOT_FOUND: Meaning(10, grpc="NOT_FOUND"),
    Reason.ACCESS_DENIED: Meaning(11, grpc="PERMISSION_DENIED"),
    Reason.SOURCE_UNAVAILABLE: Meaning(12, retryable=True, grpc="UNAVAILABLE"),
    Reason.SECRET_NOT_FOUND: Meaning(13, grpc="FAILED_PRECONDITION"),
    Reason.CLAIM_NOT_FOUND: Meaning(14, grpc="FAILED_PRECONDITION"),
    Reason.EMPTY_MANIFEST: Meaning(15, grpc="FAILED_PRECONDITION"),
    Reason.INVALID_MANIFEST: Meaning(16, grpc="FAILED_PRECONDITION"),
    Reason.MANIFEST_TOO_LARGE: Meaning(17, grpc="FAILED_PRECONDITION"),
    Reason.DIGEST_MISMATCH: Meaning(18, grpc="FAILED_PRECONDITION"),
    Reason.INVALID_REQUEST: Meaning(20, grpc="FAILED_PRECONDITION"),
    Reason.INTEGRITY_MISMATCH: Meaning(21, grpc="UNAVAILABLE"),
    Reason.INSUFFICIENT_CAPACITY: Meaning(22, grpc="RESOURCE_EXHAUSTED"),
    Reason.CANCELED: Meaning(23, retryable=True, grpc="ABORTED"),
    Reason.NOT_FOUND: Meaning(30, grpc="NOT_FOUND"),
    Reason.MISSING_EXTRA: Meaning(31, grpc="UNIMPLEMENTED"),
    Reason.STORE_LOCKED: Meaning(32, retryable=True, grpc="UNAVAILABLE"),
    Reason.UNKNOWN_FORMAT: Meaning(33, grpc="FAILED_PRECONDITION"),
    Reason.STORAGE_FAILED: Meaning(34, grpc="INTERNAL"),
}

INTERRUPTED_EXIT_STATUS = 130


class GsmError(Exception):
    """The one error root.

    `message` names the object (a reference, a path, a field), `hint` the next step, `retry_after` the seconds
    before which asking again is pointless (from a hub's Retry-After), or None.
    """

    def __init__(self, reason: Reason, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.hint = hint
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        """Whether asking again later may help, without anything being changed by hand."""
        return MEANINGS[self.reason].retryable

    @property
    def exit_status(self) -> int:
        """The process exit status of this reason."""
        return MEANINGS[self.reason].exit_status

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class NoAnswerError(GsmError):
    """SourceUnavailable because nothing answered at all: no connection, no handshake, no first line of an answer.

    A hub that answers with 5xx, 429 or rubbish is SourceUnavailable too, but it answered: an anchor takes over for
    silence only (model-artifact.md, "Resolution and revalidation").
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(Reason.SOURCE_UNAVAILABLE, message, hint=hint)


def missing_extra(extra: str, what: str) -> GsmError:
    """The error for a command whose optional libraries are not installed."""
    return GsmError(
        Reason.MISSING_EXTRA,
        f"{what} needs the optional dependencies [{extra}]",
        hint=f"pip install 'gpustack-models[{extra}]'",
    )
