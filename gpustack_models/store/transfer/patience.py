"""Owns how long a source is believed in: its failure budget of one attempt, and when it may be asked again.

Refuses clocks and randomness: both come in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.sources import Origin


@dataclass(frozen=True, slots=True)
class Retry:
    """How failures are met. Seconds, unless said otherwise.

    A source may fail `budget` times; every `refill_bytes` received, or four answers read to their end, pay one failure
    back. The wait after a failure is
    `base`, doubled each time up to `cap`, and a random half of it on top. A source that asks to be left alone for
    longer than `patience` is given up, and the attempt ends with that wait as its `retry_after`.
    """

    budget: int = 8
    refill_bytes: int = 64 << 20
    base: float = 0.5
    cap: float = 30.0
    patience: float = 120.0


class Budget:
    """The failure budget of one source in one attempt. A failure of a request counts once for all that were under way
    together: eight streams that one restart of a hub cuts are one failure.
    """

    def __init__(self, retry: Retry) -> None:
        self._retry = retry
        self._failed = 0
        self._received = 0
        self._last = float("-inf")
        #: When the source may be asked again (monotonic seconds).
        self.until = float("-inf")
        #: Why it is given up, or None.
        self.spent: GsmError | None = None
        self.last_error: GsmError | None = None

    def answered(self) -> None:
        """An answer was read to its end."""
        self.received(self._retry.refill_bytes // 4)

    def received(self, count: int) -> None:
        """Bytes arrived."""
        self._received += count
        if self._failed and self._received >= self._retry.refill_bytes:
            self._failed -= 1
            self._received = 0

    def fail(self, error: GsmError, began: float, now: float, chance: float) -> bool:
        """A request that began at `began` failed; `chance` is a random number in [0, 1). Whether it counted."""
        self.last_error = error
        wait = error.retry_after or 0.0
        self.until = max(self.until, now + wait)
        if wait > self._retry.patience:
            self.spent = error
        if began <= self._last:
            return False
        self._last = now
        self._failed += 1
        self._received = 0
        pause = min(self._retry.cap, self._retry.base * 2.0 ** (self._failed - 1))
        self.until = max(self.until, now + pause * (1 + chance / 2))
        if self._failed >= self._retry.budget:
            self.spent = error
        return True

    def give_up(self, error: GsmError) -> None:
        """Nothing of this attempt asks the source again."""
        self.last_error = self.spent = error


#: When every hub is given up, the reason that tells most about what may help, first.
_TELLING = (Reason.INVALID_REQUEST, Reason.INTEGRITY_MISMATCH, Reason.SOURCE_UNAVAILABLE, Reason.ACCESS_DENIED)


def verdict(path: str, failures: Sequence[tuple[str, Origin, GsmError]]) -> GsmError:
    """The error of a file that no source is left for: `failures` are each source's name, kind and last error.

    The reason is a hub's; peers that fail, refuse or give wrong bytes are only not there.
    """
    if not failures:
        return GsmError(Reason.SOURCE_UNAVAILABLE, f"{path}: there is no source to fetch it from")
    hubs = [error for _, origin, error in failures if origin is Origin.HUB]
    telling = min(hubs, key=lambda error: _rank(error.reason), default=None)
    waits = [error.retry_after for _, _, error in failures if error.retry_after is not None]
    return GsmError(
        telling.reason if telling else Reason.SOURCE_UNAVAILABLE,
        f"{path}: " + "; ".join(f"{name}: {error.message}" for name, _, error in failures),
        hint=telling.hint if telling else "",
        retry_after=max(waits, default=None),
    )


def _rank(reason: Reason) -> int:
    return _TELLING.index(reason) if reason in _TELLING else len(_TELLING)
