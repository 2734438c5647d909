"""Owns what the text of a Setting means: durations to seconds, bandwidths to bytes per second, switches to booleans.

Refuses texts without the form of `core.forms`, which admission has refused already: GsmError(InvalidInput).
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

from gpustack_models.core.forms import BANDWIDTH, BOOLEAN, DURATION, Form
from gpustack_models.errors import GsmError, Reason

_UNITS = {
    "h": Decimal(3600),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "ns": Decimal("1e-9"),
}
_PART = re.compile(r"([0-9.]+)([a-z]+)")
_SUFFIXES = {
    "k": 1000,
    "M": 1000**2,
    "G": 1000**3,
    "T": 1000**4,
    "Ki": 1 << 10,
    "Mi": 1 << 20,
    "Gi": 1 << 30,
    "Ti": 1 << 40,
}


def seconds(text: str) -> float:
    """A Go-style duration (`1h30m`) in seconds."""
    _check(DURATION, text)
    return float(sum(Decimal(number) * _UNITS[unit] for number, unit in _PART.findall(text)))


def bytes_per_second(text: str) -> int:
    """A quantity (`200Mi`) in bytes, rounded up as Kubernetes does; 0 is unlimited."""
    _check(BANDWIDTH, text)
    digits = text.rstrip("kMGTi")
    return int((Decimal(digits) * _SUFFIXES.get(text[len(digits) :], 1)).to_integral_value(ROUND_CEILING))


def switch(text: str) -> bool:
    """`true` or `false`."""
    _check(BOOLEAN, text)
    return text == "true"


def _check(form: Form, text: str) -> None:
    if not form.fits(text):
        raise GsmError(Reason.INVALID_INPUT, f"{text!r} is not {form.words}")
