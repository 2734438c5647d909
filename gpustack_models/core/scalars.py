"""Owns what a plain YAML scalar means: the YAML 1.1 that kubectl reads, so that a laptop and a cluster see one value.

Refuses what JSON cannot carry: infinities and tags of other types.
"""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE = frozenset({"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|[1-9][0-9_]*|0)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_JSON = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
#: The base of an integer by how it begins; a lone leading zero is YAML 1.1's octal.
_BASES = {"0x": 16, "0b": 2, "0o": 8, "0": 8}
_CORE = "tag:yaml.org,2002:"
#: An integer that a JSON number carries without loss in every client.
_LARGEST = 1 << 64
#: Digits of the longest one, in base 2.
_MAX_DIGITS = 64


def resolve(text: str, *, plain: bool, tag: str | None) -> Scalar:
    """The value of a scalar. Raises ValueError, for a person, when it has none that JSON can carry."""
    if tag is not None and tag != "!":
        return _tagged(text, tag)
    return _plain(text) if plain else text


def is_text(text: str) -> bool:
    """Whether a text may stand plain, without quotes, and still be read as that text."""
    try:
        return _plain(text) == text
    except ValueError:
        return False


def _plain(text: str) -> Scalar:
    if not text or text[0] not in "0123456789+-.~nNyYtTfFoO":
        return text or None
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _float(text)
    if _NOT_JSON.fullmatch(text):
        raise ValueError(f"{text} is a number that JSON cannot carry")
    return text


def _float(text: str) -> int | float | str:
    number = float(text.replace("_", ""))
    if math.isinf(number):
        return text
    return int(number) if number.is_integer() and abs(number) < _LARGEST else number


def _integer(text: str) -> int | float | str:
    digits = text.replace("_", "").lower()
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    prefix = next((each for each in _BASES if digits.startswith(each) and len(digits) > len(each)), "")
    base, digits = _BASES.get(prefix, 10), digits.removeprefix(prefix)
    if len(digits) > _MAX_DIGITS:
        # Beyond any integer, decimal digits are a float, and others a text.
        return _float(text) if base == 10 else text
    value = sign * int(digits, base)
    return value if abs(value) < _LARGEST else float(value)


def _tagged(text: str, tag: str) -> Scalar:
    kind = tag.removeprefix(_CORE)
    if kind == "str":
        return text
    value = _plain(text)
    wanted: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float, int), "bool": (bool,), "null": (type(None),)}
    if kind not in wanted:
        raise ValueError(f"the tag {tag} has no meaning in a Kubernetes object")
    if not isinstance(value, wanted[kind]) or (kind in ("int", "float") and isinstance(value, bool)):
        raise ValueError(f"{text!r} is not of the type that its tag {tag} says")
    return value
