"""Owns what was asked of a local hub: one value per request, for tests and for the access log.

Refuses to keep a credential: of a token or a cookie only a short hash is kept.
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpustack_models.hub_server.wire import Origin

_SECRET = frozenset({"authorization", "cookie", "proxy-authorization"})
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Request:
    """One request and what became of it. `sent` counts the body's bytes that left; `faults` are those it met."""

    origin: Origin
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str] = field(repr=False)
    status: int
    sent: int
    faults: tuple[str, ...] = ()

    @property
    def authorized(self) -> bool:
        """Whether a token came along, as a header or as a cookie."""
        return bool(_SECRET & self.headers.keys())

    def __str__(self) -> str:
        # The query of a link to the CDN is a credential for what it links to.
        shown = {} if self.origin is Origin.CDN else self.query
        query = "?" + "&".join(f"{name}={value}" for name, value in shown.items()) if shown else ""
        return f"{self.origin} {self.method} {self.path}{query} {self.status} {self.sent}"


def redacted(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers with every credential replaced by a hash of it, so that two can still be compared."""
    return {name: fingerprint(value) if name in _SECRET else value for name, value in headers.items()}


def fingerprint(secret: str) -> str:
    """A short hash of a credential."""
    return "sha256:" + hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()[:12]


class Open:
    """A request that is being answered; `status` and `sent` grow while it is."""

    def __init__(self, origin: Origin, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]):
        self.status = 0
        self.sent = 0
        self.faults: tuple[str, ...] = ()
        self.head = method == "HEAD"
        self._asked = (origin, method, path, query, headers)

    def value(self) -> Request:
        """The request as it stands."""
        return Request(*self._asked, self.status, self.sent, self.faults)


class Record:
    """The last requests, oldest first. Thread-safe; a request is here before its answer leaves."""

    def __init__(self, listener: Callable[[Request], None] | None = None) -> None:
        self._requests: deque[Open] = deque(maxlen=_MOST)
        self._listener = listener
        self._lock = threading.Lock()

    def begin(self, request: Open) -> None:
        """Keep a request from now on."""
        with self._lock:
            self._requests.append(request)

    def end(self, request: Open) -> None:
        """A request was answered, as far as it ever will be."""
        if self._listener:
            self._listener(request.value())

    def all(self) -> list[Request]:
        """The requests since the last `clear`."""
        with self._lock:
            return [request.value() for request in self._requests]

    def clear(self) -> None:
        """Forget them."""
        with self._lock:
            self._requests.clear()
