"""Owns when to ask again: what an answer asks for, how long to wait before the next attempt, when to give up.

Refuses clocks and sleeping; both are handed in.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
#: Without a deadline, a hub that asks for more patience than this is reported instead of waited for.
LONGEST_WAIT = 60.0
#: No hub's word moves a next attempt further away than a day.
_LONGEST_ASKED = 86_400.0
_EPOCH_SECONDS = 1_000_000_000
_REMAINING_RESET = re.compile(r"(?:^|[;,\s])t=(\d{1,12})")


@dataclass(frozen=True, slots=True)
class Pace:
    """The clocks, the sleep and the dice of a client: `jitter` gives numbers from 0 to 1."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


def asked_pause(status: int, headers: Mapping[str, str], now: float) -> float | None:
    """Seconds before which the server wants no further request, or None when it does not say.

    `headers` have lowercase names, `now` is seconds since the epoch. Retry-After counts on 429 and 5xx, the rate-limit
    headers on 429 (hubs.md, "Retry-After and the rate-limit headers of a 429").
    """
    if status != 429 and status < 500:
        return None
    asked = _retry_after(headers.get("retry-after", ""), now)
    if asked is None and status == 429:
        asked = _rate_limit(headers, now)
    return None if asked is None else min(max(asked, 0.0), _LONGEST_ASKED)


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


def _retry_after(text: str, now: float) -> float | None:
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) <= 12:
        return float(text)
    try:
        return parsedate_to_datetime(text).timestamp() - now if text else None
    except (ValueError, OverflowError, OSError):
        return None


def _rate_limit(headers: Mapping[str, str], now: float) -> float | None:
    # `RateLimit: "api";r=0;t=55` is the draft standard's form, in seconds; the older ones are seconds or an instant.
    if match := _REMAINING_RESET.search(headers.get("ratelimit", "")):
        return float(match[1])
    for name in ("ratelimit-reset", "x-ratelimit-reset"):
        text = headers.get(name, "").strip()
        if text.isascii() and text.isdecimal() and len(text) <= 12:
            return float(text) - (now if float(text) >= _EPOCH_SECONDS else 0)
    return None
