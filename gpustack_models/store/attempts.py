"""Owns the rules of an attempt as pure functions: backoff, the lease, which requester's offer is next, the verdict.

Refuses I/O, threads and clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from gpustack_models.core.manifest import Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.clock import Instant, age
from gpustack_models.store.records import Failure
from gpustack_models.store.sources import Origin, Source

#: node-store.md, "An attempt".
FIRST_BACKOFF_SECONDS = 60.0
LAST_BACKOFF_SECONDS = 3600.0
LEASE_SECONDS = 300.0
MAX_MESSAGE = 500

#: Reasons that say nothing about the digest, so that the next request may try at once.
_NO_BACKOFF = (Reason.INVALID_REQUEST, Reason.CANCELED)
#: When every source failed, the reason that tells most about what may help, first.
_TELLING = (
    Reason.INTEGRITY_MISMATCH,
    Reason.INVALID_REQUEST,
    Reason.SOURCE_UNAVAILABLE,
    Reason.ACCESS_DENIED,
)


@dataclass(frozen=True, slots=True)
class Offer:
    """One requester's own way to the content: a repository and a credential, kept as a pair, in memory only.

    `key` tells pairs apart and is never shown. `manifest` lists the content with this credential, and `source` serves
    its files; both raise GsmError. A peer's offer has the origin `Peer`.
    """

    key: str
    origin: Origin
    manifest: Callable[[], Manifest] = field(repr=False)
    source: Source = field(repr=False)


def backoff(count: int) -> float:
    """Seconds to wait after the `count`-th failure in a row: a minute, doubling to an hour.

    A count of 0 is no attempt's: a published tree that broke on the disk, which may come back at once.
    """
    return 0.0 if count < 1 else min(LAST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0 ** (min(count, 16) - 1))


def retry_in(failure: Failure, now: Instant) -> float:
    """Seconds until a failed digest may be tried again; 0 when it may be now. Never more than its backoff."""
    return max(0.0, backoff(failure.count) - age(failure.at, now))


def next_failure(previous: Failure | None, digest: str, error: GsmError, now: Instant) -> Failure | None:
    """The record of a failed attempt, or None when its reason does not back off."""
    if error.reason in _NO_BACKOFF:
        return None
    count = previous.count + 1 if previous else 1
    return Failure(digest, count, error.reason, error.message[:MAX_MESSAGE], now)


def backing_off(failure: Failure, seconds: float) -> GsmError:
    """The answer to a request for a digest that may not be tried yet."""
    return GsmError(
        failure.reason,
        failure.message,
        hint=f"attempt {failure.count} failed; the next one may begin in {max(1, round(seconds))} s",
        retry_after=seconds,
    )


def expired(asked: float, now: float) -> bool:
    """Whether nobody asked for an attempt long enough for it to be canceled (monotonic seconds)."""
    return now - asked > LEASE_SECONDS


def canceled(digest: str, why: str) -> GsmError:
    """The end of an attempt that nobody wants any more; its partial files stay."""
    return GsmError(
        Reason.CANCELED, f"{digest}: {why}", hint="what was fetched is kept; the next pull goes on from there"
    )


def joined(offers: Sequence[Offer], new: Iterable[Offer]) -> tuple[Offer, ...]:
    """The offers with those that are new, peers first, in the order they came."""
    known = {offer.key for offer in offers}
    added = [*offers, *(offer for offer in new if offer.key not in known)]
    return tuple(sorted(added, key=lambda offer: offer.origin is not Origin.PEER))


def bound(offer: Offer, digest: str, manifest: Manifest) -> GsmError | None:
    """Why a listing is not the digest's, or None. A peer that lists something else is a broken peer, no more."""
    if manifest.digest == digest:
        return None
    if offer.origin is Origin.PEER:
        return GsmError(Reason.SOURCE_UNAVAILABLE, f"a peer's manifest is {manifest.digest}, not {digest}")
    return GsmError(
        Reason.INTEGRITY_MISMATCH,
        f"the hub's listing is {manifest.digest}, but {digest} is asked for",
        hint="the content at that commit is not what was resolved; resolve it again",
    )


def verdict(digest: str, errors: Sequence[GsmError]) -> GsmError:
    """The one error of an attempt whose every source failed."""
    if not errors:
        return GsmError(
            Reason.SOURCE_UNAVAILABLE,
            f"nothing that can be asked holds {digest}",
            hint="pull it from a hub, or from a peer that has it",
        )
    rank = {reason: place for place, reason in enumerate(_TELLING)}
    return min(errors, key=lambda error: rank.get(error.reason, len(rank)))
