"""Owns the data plane's requests: pooled connections, redirects, and bodies that are read into the caller's memory.

Refuses to carry a token away from its endpoint, and to say what a failure means for the file.
"""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

import urllib3
import urllib3.exceptions as failures
from urllib3.connectionpool import HTTPConnectionPool

from gpustack_models import __version__
from gpustack_models.core.location import Location, follow, origin_of
from gpustack_models.core.network import HttpOptions
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.transfer.answers import REDIRECTS
from gpustack_models.store.transfer.wire import Call, Pool, SecurePool, calling
from gpustack_models.store.transfer.words import why

_MAX_HOPS = 5
_USER_AGENT = f"gpustack-models/{__version__}"


# A URL is looked at several times on its way, and ten thousand small files have ten thousand of them.
_host_of = lru_cache(maxsize=64)(origin_of)


@dataclass(slots=True)
class Answer:
    """One answer: its status and headers, where it came from in the end, and whether the endpoint itself gave it."""

    response: urllib3.BaseHTTPResponse
    call: Call
    url: str
    at_home: bool

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, looked up in any case."""
        return self.response.headers

    def read_into(self, view: memoryview) -> int:
        """Read what has arrived, at least one byte; 0 at the end. Raises OSError, HTTPException, HTTPError."""
        raw = getattr(self.response, "_fp", None)
        return (raw if isinstance(raw, http.client.HTTPResponse) else self.response).readinto(view) or 0

    def close(self) -> None:
        """Give the connection back when the body was read to its end, else close it."""
        self.call.let_go()
        raw = getattr(self.response, "_fp", None)
        if not (isinstance(raw, http.client.HTTPResponse) and raw.isclosed()):
            self.response.close()
        self.response.release_conn()


class Dialer:
    """Sends requests for bytes, from any thread; connections are kept and used again.

    `trust` makes the TLS context, when the first https request needs one.
    """

    def __init__(
        self, options: HttpOptions, trust: Callable[[], ssl.SSLContext], *, connections: int, read_timeout: float
    ) -> None:
        self._options = options
        self._trust = trust
        self._connections = connections
        self._timeout = urllib3.Timeout(connect=options.connect_timeout, read=read_timeout)
        self._lock = threading.Lock()
        self._managers: dict[str, urllib3.PoolManager] = {}
        self._pools: dict[tuple[tuple[str, str, int], str], HTTPConnectionPool] = {}
        self._context: ssl.SSLContext | None = None

    def get(self, location: Location, bytes_range: str, call: Call, *, at: str = "") -> Answer:
        """Ask for bytes; redirects are followed, without the location's headers where they do not belong.

        `bytes_range` is the Range header, "" for none. `at` is where an earlier answer for the same file came from in
        the end, asked directly. Raises GsmError(SourceUnavailable) when there is no answer.
        """
        url = at or location.url
        at_home = not at and _host_of(url) == _host_of(location.endpoint)
        for _ in range(_MAX_HOPS):
            headers = {"User-Agent": _USER_AGENT, "Accept-Encoding": "identity"}
            if at_home:
                headers.update(location.headers)
            if bytes_range:
                headers["Range"] = bytes_range
            response = self._send(url, headers, call)
            target = response.headers.get("location") if response.status in REDIRECTS else None
            if not target:
                return Answer(response, call, url, at_home)
            call.let_go()
            _drain(response)
            hop = follow(url, target, location.endpoint)
            url, at_home = hop.url, at_home and hop.send_token
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"it redirects more than {_MAX_HOPS} times")

    def close(self) -> None:
        """Close every connection that waits for a next request."""
        with self._lock:
            for manager in self._managers.values():
                manager.clear()
            self._pools.clear()

    def _send(self, url: str, headers: dict[str, str], call: Call) -> urllib3.BaseHTTPResponse:
        pool, target = self._pool(url)
        calling.call = call
        try:
            for _ in range(self._connections + 1):
                try:
                    return pool.urlopen(
                        "GET",
                        target,
                        headers=headers,
                        retries=False,
                        redirect=False,
                        assert_same_host=False,
                        timeout=self._timeout,
                        preload_content=False,
                        decode_content=False,
                    )
                except failures.ProtocolError as error:
                    # A kept connection that the server closed meanwhile says nothing about the server.
                    if call.cut_off or not (calling.reused and _was_closed(error)):
                        raise
            raise GsmError(Reason.SOURCE_UNAVAILABLE, "it closes every connection")
        except (failures.HTTPError, OSError, http.client.HTTPException, ValueError) as error:
            raise GsmError(Reason.SOURCE_UNAVAILABLE, why(error)) from None
        finally:
            calling.call = None

    def _pool(self, url: str) -> tuple[HTTPConnectionPool, str]:
        parts = urlsplit(url)
        origin = _host_of(url)
        proxy = self._options.proxy_for(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        with self._lock:
            pool = self._pools.get((origin, proxy))
            if pool is None:
                manager = self._manager(proxy, secure=parts.scheme == "https")
                pool = manager.connection_from_host(origin[1], origin[2], scheme=origin[0])
                self._pools[origin, proxy] = pool
        # A proxy for plain http is asked for the whole URL; one for https is a tunnel.
        return pool, f"{parts.scheme}://{parts.netloc}{path}" if proxy and parts.scheme == "http" else path

    def _manager(self, proxy: str, *, secure: bool) -> urllib3.PoolManager:
        key = f"{proxy} {secure}"
        manager = self._managers.get(key)
        if manager is None:
            options: dict[str, Any] = {"num_pools": 256, "maxsize": self._connections, "block": False}
            # Reading the system's roots takes tens of milliseconds: only when TLS is spoken.
            if secure or proxy.startswith("https:"):
                self._context = self._context or self._trust()
            if secure:
                options["ssl_context"] = self._context
            manager = _proxy_manager(proxy, self._context, options) if proxy else urllib3.PoolManager(**options)
            manager.pool_classes_by_scheme = {"http": Pool, "https": SecurePool}
            self._managers[key] = manager
        return manager


def _proxy_manager(proxy: str, context: ssl.SSLContext | None, options: dict[str, Any]) -> urllib3.PoolManager:
    parts = urlsplit(proxy)
    plain = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if parts.username is not None:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        options["proxy_headers"] = urllib3.make_headers(proxy_basic_auth=secret)
    return urllib3.ProxyManager(plain, proxy_ssl_context=context if parts.scheme == "https" else None, **options)


def _drain(response: urllib3.BaseHTTPResponse) -> None:
    # The body of a redirect is a few bytes; read, the connection serves again.
    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) <= 1 << 16:
        with suppress(failures.HTTPError, OSError):
            response.drain_conn()
    else:
        response.close()
    response.release_conn()


def _was_closed(error: failures.ProtocolError) -> bool:
    cause = error.args[1] if len(error.args) > 1 else None
    return isinstance(cause, http.client.RemoteDisconnected | ConnectionResetError | BrokenPipeError)
