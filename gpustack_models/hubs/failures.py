"""Owns what a failed exchange means: one row for each way that a connection, a handshake or an answer can break.

Refuses to repeat a URL's query, a header or a proxy's password.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass

import httpcore

from gpustack_models.errors import GsmError, NoAnswerError, Reason


@dataclass(frozen=True, slots=True)
class FailureRow:
    """One way to fail: the exception, how it is said (`{detail}` is the system's own word for it), whether trying again
    at once may help.
    """

    id: str
    exception: type[Exception]
    message: str
    transient: bool = True
    hint: str = ""


#: Looked up from the top: a row comes before those of its exception's parents.
FAILURES: tuple[FailureRow, ...] = (
    FailureRow(
        "certificate",
        ssl.SSLCertVerificationError,
        "its certificate is not trusted: {detail}",
        transient=False,
        hint="name the authority's PEM file in SSL_CERT_FILE, or look who is in between",
    ),
    FailureRow("tls", ssl.SSLError, "TLS failed: {detail}", hint="check the endpoint's scheme and port"),
    FailureRow("connect-timeout", httpcore.ConnectTimeout, "it did not take a connection in time"),
    FailureRow("read-timeout", httpcore.ReadTimeout, "it was silent for too long"),
    FailureRow("write-timeout", httpcore.WriteTimeout, "it took no more of the request"),
    FailureRow("pool-timeout", httpcore.PoolTimeout, "no connection became free in time"),
    FailureRow("timeout", httpcore.TimeoutException, "it took too long"),
    FailureRow(
        "proxy", httpcore.ProxyError, "the proxy gave no way to it: {detail}", hint="check HTTPS_PROXY and NO_PROXY"
    ),
    FailureRow(
        "connect",
        httpcore.ConnectError,
        "no connection was made: {detail}",
        hint="check the address (--endpoint, HF_ENDPOINT, MODELSCOPE_ENDPOINT) and HTTPS_PROXY",
    ),
    FailureRow("network", httpcore.NetworkError, "the connection broke: {detail}"),
    FailureRow("http", httpcore.RemoteProtocolError, "what came is not HTTP, or was cut off"),
    FailureRow("request", httpcore.LocalProtocolError, "the request cannot be written", transient=False),
    FailureRow("protocol", httpcore.ProtocolError, "what came is not HTTP"),
    FailureRow("unsupported", httpcore.UnsupportedProtocol, "its scheme is not http or https", transient=False),
)

EXCHANGE_ERRORS: tuple[type[Exception], ...] = tuple(row.exception for row in FAILURES)


@dataclass(frozen=True, slots=True)
class Failure:
    """An exchange that ended without a whole answer."""

    error: GsmError
    transient: bool


def failure_of(error: Exception, name: str, host: str, *, begun: bool, silent: bool, late: str = "") -> Failure:
    """What an exception of an exchange with `host` means for `name` (a reference).

    `begun` tells whether the answer had, `silent` whether the hub has not answered anything yet; `late`, when not
    empty, is the bound that had passed.
    """
    shown = _innermost(error)
    row = next(row for row in FAILURES if isinstance(shown, row.exception))
    what, hint = row.message.format(detail=_detail(error)), row.hint
    if late and isinstance(error, httpcore.TimeoutException):
        what, hint = f"no whole answer within {late}", ""
    message = f"{name}: {host} {'broke off' if begun else 'did not answer'}: {what}"
    if silent:
        return Failure(NoAnswerError(message, hint=hint), row.transient)
    return Failure(GsmError(Reason.SOURCE_UNAVAILABLE, message, hint=hint), row.transient)


def _innermost(error: Exception) -> Exception:
    # httpcore wraps the handshake's error in a ConnectError, and that hides what the reader can do about it.
    return next((cause for cause in _causes(error) if isinstance(cause, ssl.SSLError)), error)


def _detail(error: Exception) -> str:
    """The system's word for it, on one line; never an exception's own text where it could hold a URL."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return str(getattr(cause, "verify_message", "") or "it was not verified")
        if isinstance(cause, ssl.SSLError):
            return str(getattr(cause, "reason", "") or "no reason is given").replace("_", " ").lower()
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
    if isinstance(error, httpcore.ProxyError):
        return "".join(character for character in str(error)[:80] if character.isprintable())
    return "it was closed"


def _causes(error: BaseException) -> Iterator[BaseException]:
    # httpcore keeps what it wraps as its argument; its pool cuts the chain of causes off.
    while True:
        yield error
        if not error.args or not isinstance(error.args[0], Exception):
            return
        error = error.args[0]
