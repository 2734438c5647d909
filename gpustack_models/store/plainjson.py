"""Owns reading the store's own small JSON files: what this program never writes there is no value.

Refuses numbers that are no numbers or too large, nesting without end, and moments that no clock shows.
"""

from __future__ import annotations

import json
from typing import Any

from gpustack_models.store.clock import Instant

#: The end of the year 9999, where calendars end.
_LAST_MOMENT = 253_402_300_799.0
_LARGEST = 1 << 63


def parse(data: bytes | str) -> Any:
    """The value of a JSON text. Raises ValueError for any text that is not one, or has what is refused above."""
    try:
        return json.loads(data, parse_constant=_refuse, parse_float=_float, parse_int=_int)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def moment(value: Any) -> float:
    """Seconds since the epoch. Raises ValueError for what no clock shows."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= _LAST_MOMENT:
        raise ValueError(f"{value!r:.80} is not a moment")
    return float(value)


def instant(value: Any) -> Instant:
    """A moment with its boot. Raises ValueError for anything else."""
    match value:
        case {"wall": wall, "boot": str() as boot, "uptime": uptime} if len(value) == 3:
            return Instant(moment(wall), boot, moment(uptime))
    raise ValueError(f"{value!r:.80} is not a moment with its boot")


def _int(text: str) -> int:
    value = int(text)
    if not -_LARGEST <= value < _LARGEST:
        raise ValueError("a number is too large")
    return value


def _float(text: str) -> float:
    value = float(text)
    if not -_LARGEST <= value <= _LARGEST:  # infinite, too
        raise ValueError("a number is too large")
    return value


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no number")
