"""Owns the sockets of the hubs' client: pools by proxy and scheme, TLS trust, and a bound on every wait.

Refuses redirects, retries and any meaning of an answer.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore

from gpustack_models.core.network import HttpOptions
from gpustack_models.errors import GsmError, Reason

_CONNECTIONS = 32
_IDLE_SECONDS = 30.0


class Transport:
    """Sends one request at a time, from any thread. `monotonic` is the clock that `until` is read by."""

    def __init__(self, options: HttpOptions, monotonic: Callable[[], float]) -> None:
        self._options = options
        self._bounds = _Bounds(monotonic)
        self._pools: dict[tuple[str, str], httpcore.ConnectionPool] = {}
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None

    @contextmanager
    def stream(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], until: float | None
    ) -> Iterator[httpcore.Response]:
        """Send a request; the body is read by `iter_stream`. No wait, connecting included, outlasts `until`.

        Raises the exceptions of httpcore; GsmError(InvalidInput) for a CA bundle that cannot be read.
        """
        options = self._options
        timeouts = {
            "connect": options.connect_timeout,
            "read": options.read_timeout,
            "write": options.read_timeout,
            "pool": options.read_timeout,
        }
        raw = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers]
        pool = self._pool(url)
        self._bounds.until = until
        with pool.stream(method, url, headers=raw, extensions={"timeout": timeouts}) as response:
            yield response

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            for pool in self._pools.values():
                pool.close()
            self._pools.clear()

    def _pool(self, url: str) -> httpcore.ConnectionPool:
        proxy, scheme = self._options.proxy_for(url), urlsplit(url).scheme
        with self._lock:
            pool = self._pools.get((proxy, scheme))
            if pool is None:
                pool = self._pools[proxy, scheme] = self._new_pool(proxy, secure=scheme == "https")
            return pool

    def _new_pool(self, proxy: str, *, secure: bool) -> httpcore.ConnectionPool:
        # Reading the roots is worth tens of milliseconds: only when TLS is spoken.
        if self._context is None and (secure or proxy.startswith("https:")):
            self._context = trust(self._options.ca_bundle)
        return httpcore.ConnectionPool(
            ssl_context=self._context,
            proxy=_proxy(proxy, self._context) if proxy else None,
            max_connections=_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
            network_backend=_Backend(self._bounds),
        )


def trust(ca_bundle: str) -> ssl.SSLContext:
    """A TLS context that trusts the system's roots and, beside them, a file or folder of certificates.

    Raises GsmError(InvalidInput) naming a bundle that cannot be read or holds no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _load_system_roots(context)
    if not ca_bundle:
        return context
    try:
        context.load_verify_locations(**{"capath" if Path(ca_bundle).is_dir() else "cafile": ca_bundle})
    except ssl.SSLError:
        raise _bad_bundle(ca_bundle, "it holds no certificate in PEM form") from None
    except (OSError, ValueError) as error:
        raise _bad_bundle(ca_bundle, getattr(error, "strerror", "") or "it is not a path") from None
    return context


def _load_system_roots(context: ssl.SSLContext) -> None:
    # Not load_default_certs: there OpenSSL reads SSL_CERT_FILE itself, in place of the system's roots.
    paths = ssl.get_default_verify_paths()
    file, folder = Path(paths.openssl_cafile), Path(paths.openssl_capath)
    if file.is_file():
        context.load_verify_locations(cafile=str(file))
    if folder.is_dir() and any(folder.iterdir()):
        context.load_verify_locations(capath=str(folder))
    elif not file.is_file():
        import certifi

        context.load_verify_locations(cafile=certifi.where())


def _bad_bundle(path: str, why: str) -> GsmError:
    return GsmError(
        Reason.INVALID_INPUT,
        f"the CA bundle {path} cannot be used: {why}",
        hint="give a PEM file, by REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE",
    )


def _proxy(url: str, context: ssl.SSLContext | None) -> httpcore.Proxy:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    plain = f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")
    auth = None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))
    return httpcore.Proxy(plain, auth=auth, ssl_context=context if parts.scheme == "https" else None)


class _Bounds(threading.local):
    """The instant after which this thread waits for nothing."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.until: float | None = None
        self._monotonic = monotonic

    def within(self, timeout: float | None, late: type[Exception]) -> float | None:
        """A time-out that ends no later than `until`; raises `late` when that has passed."""
        if self.until is None:
            return timeout
        left = self.until - self._monotonic()
        if left <= 0:
            raise late("the bound of the whole answer has passed")
        return left if timeout is None else min(left, timeout)


# A read time-out alone bounds no answer: a server that sends a byte of its headers now and then would hold a caller for
# hours. So every single wait of the socket is cut to what is left.
class _Backend(httpcore.NetworkBackend):
    def __init__(self, bounds: _Bounds) -> None:
        self._bounds = bounds
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(error) from error
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in dict.fromkeys(str(each[4][0]) for each in found):
            try:
                within = self._bounds.within(timeout, httpcore.ConnectTimeout)
                stream = self._sockets.connect_tcp(address, port, within, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = failure or error
            else:
                return _Stream(stream, self._bounds)
        raise failure or httpcore.ConnectError("the name has no address")


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, bounds: _Bounds) -> None:
        self._stream = stream
        self._bounds = bounds

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._bounds.within(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._bounds.within(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        within = self._bounds.within(timeout, httpcore.ConnectTimeout)
        secured = self._stream.start_tls(ssl_context, server_hostname, within)
        return _Stream(secured, self._bounds)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
