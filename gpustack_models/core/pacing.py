"""Owns what an answer says of the next request: not before so many seconds.

Refuses clocks; an instant is handed in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

#: No host's word moves a next attempt further away than a day.
_LONGEST_ASKED = 86_400.0
_EPOCH_SECONDS = 1_000_000_000
_REMAINING_RESET = re.compile(r"(?:^|[;,\s])t=(\d{1,12})")


def asked_pause(status: int, headers: Mapping[str, str], now: float) -> float | None:
    """Seconds before which the server wants no further request, or None when it does not say.

    `headers` have lowercase names; `now` is seconds since the epoch, for an answer that does not tell its own Date.
    Retry-After counts on 429 and 5xx, the rate-limit headers on 429 (hubs.md, "Retry-After and the rate-limit headers
    of a 429").
    """
    if status != 429 and status < 500:
        return None
    told = _instant(headers.get("date", ""))
    now = now if told is None else told
    asked = _retry_after(headers.get("retry-after", ""), now)
    if asked is None and status == 429:
        asked = _rate_limit(headers, now)
    return None if asked is None else min(max(asked, 0.0), _LONGEST_ASKED)


def _retry_after(text: str, now: float) -> float | None:
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) <= 12:
        return float(text)
    until = _instant(text)
    return None if until is None else until - now


def _instant(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
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
