"""Owns when to ask again: how long to wait before the next attempt, when to give up.

Refuses clocks and sleeping; both are handed in.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
#: Without a deadline, a hub that asks for more patience than this is reported instead of waited for.
LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Pace:
    """The clocks, the sleep and the dice of a client: `jitter` gives numbers from 0 to 1."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


def next_pause(attempt: int, asked: float | None, jitter: float, left: float | None) -> float | None:
    """Seconds to wait after a failed attempt (the first is 0), or None when waiting is pointless.

    `asked` is the server's wish, `left` the seconds until the deadline. Backing off doubles, with jitter from half to
    the whole; a server's wish is never cut short, only exceeded, so that many clients do not come back at once.
    """
    pause = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE) * (0.5 + jitter / 2)
    if asked is not None:
        if left is None and asked > LONGEST_WAIT:
            return None
        pause = max(pause, asked + jitter * _FIRST_PAUSE)
    return None if left is not None and pause >= left else pause
