"""Owns what time it is for the store: an instant that outlives a restart, and ages that no wall clock can bend.

Refuses to be read anywhere but at an entry point: whoever decides is handed an instant.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment: seconds since the epoch by the wall clock, the machine's boot, and seconds since that boot.

    `boot` is empty where the system does not name its boots; then only the wall clock is left.
    """

    wall: float
    boot: str = ""
    uptime: float = 0.0


class Clock(Protocol):
    """Where the store reads the time."""

    def now(self) -> Instant:
        """This moment, for records and ages."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump and stand still while the machine sleeps, for leases and rates."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def __init__(self) -> None:
        try:
            self._boot = _BOOT_ID.read_text().strip()
        except OSError:
            self._boot = ""
        self._uptime = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def now(self) -> Instant:
        """This moment."""
        return Instant(time.time(), self._boot, time.clock_gettime(self._uptime))

    def monotonic(self) -> float:
        """Seconds that never jump."""
        return time.monotonic()


def age(then: Instant, now: Instant) -> float:
    """Seconds from `then` to `now`, never negative.

    Within one boot the wall clock has no say: set forward, it makes nothing old; set back, it keeps nothing young.
    """
    if then.boot and then.boot == now.boot:
        return max(0.0, now.uptime - then.uptime)
    if then.boot and now.boot and then.wall > now.wall:
        return now.uptime  # a clock was wrong, then or now; but it was before this boot
    return max(0.0, now.wall - then.wall)
