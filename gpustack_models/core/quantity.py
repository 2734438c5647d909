"""Owns what a Kubernetes quantity of bytes means, and how one is written back.

Refuses texts that are no quantity: GsmError(InvalidInput).
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

from gpustack_models.core.forms import QUANTITY
from gpustack_models.errors import GsmError, Reason

_SUFFIXES = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1)}
_SUFFIXES |= {suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", 1)}
_SUFFIXES |= {f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)}
_FORM = re.compile(QUANTITY)
_PARTS = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)(.*)")
#: What an int64 holds; Kubernetes caps quantities there too.
_LARGEST = (1 << 63) - 1
#: An exponent beyond this decides alone, whatever the suffix: a number of a billion digits is never written out.
_DIGITS = 40


def whole(quantity: str | int) -> int:
    """A quantity as a whole number, rounded up as Kubernetes does (`1.5Gi` is 1610612736)."""
    text = str(quantity)
    parts = _PARTS.fullmatch(text) if _FORM.fullmatch(text) else None
    if parts is None:
        raise GsmError(
            Reason.INVALID_INPUT, f"{text!r} is not a quantity", hint="write a number and a unit, such as 20Gi"
        )
    number = Decimal(parts[1])
    if number.adjusted() > _DIGITS:
        return 0 if number.is_zero() else -_LARGEST if number.is_signed() else _LARGEST
    if number.adjusted() < -_DIGITS:
        return 0 if number.is_zero() or number.is_signed() else 1
    number = number * _SUFFIXES[parts[2]]
    return max(-_LARGEST, min(int(number.to_integral_value(ROUND_CEILING)), _LARGEST))
