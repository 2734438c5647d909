"""Owns reading the pickled cookie jar in which modelscope keeps a log-in.

Refuses every class that is not part of such a jar, and runs none of those: a pickle is a program.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass, field
from typing import Any

# Up to its protocol 2, a pickle calls the module by the name it once had.
_STANDARD = ("Cookie", "CookieJar", "DefaultCookiePolicy")
_CLASSES = frozenset(
    {
        ("requests.cookies", "RequestsCookieJar"),
        *((module, name) for module in ("http.cookiejar", "cookielib") for name in _STANDARD),
    }
)
# What the documentation of pickle says that a broken one may raise, and what our own walk over it can meet.
_BROKEN = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Cookie:
    """One cookie: its name, its value (never printed), the host it is for, when it ends (epoch seconds, or None)."""

    name: str
    value: str = field(repr=False)
    domain: str
    expires: float | None


def cookies_of(data: bytes) -> list[Cookie]:
    """The cookies of a pickled jar, in its order. Raises ValueError for anything else, silent about its content."""
    try:
        jar = _Reader(io.BytesIO(data)).load()
        return [
            _cookie(cookie.__dict__)
            for paths in jar.__dict__["_cookies"].values()
            for names in paths.values()
            for cookie in names.values()
        ]
    except _BROKEN as error:
        raise ValueError(f"it is no cookie jar ({type(error).__name__})") from None


def _cookie(state: dict[str, Any]) -> Cookie:
    name, value, domain, expires = (state[key] for key in ("name", "value", "domain", "expires"))
    if not all(isinstance(text, str) for text in (name, value, domain)) or not isinstance(expires, float | int | None):
        raise TypeError
    return Cookie(name, value, domain, expires)


class _Inert:
    """Stands in for every class of a jar: it takes attributes and does nothing."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[_Inert]:
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError
        return _Inert
