"""Owns what a broken exchange means, row by row. Refuses sockets: the exceptions are made as httpcore makes them."""

from __future__ import annotations

import errno
import ssl

import httpcore
import pytest

from gpustack_models.errors import NoAnswerError, Reason
from gpustack_models.hubs.failures import EXCHANGE_ERRORS, FAILURES, failure_of

HOST = "https://hub.example"
NAME = "hf://org/repo@main"


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


#: By row: an exception that is its own, a word of the message, whether trying again may help.
ROWS: dict[str, tuple[Exception, str, bool]] = {
    "certificate": (httpcore.ConnectError(untrusted()), "not trusted: self-signed certificate", False),
    "tls": (httpcore.ConnectError(ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] x")), "TLS failed", True),
    "connect-timeout": (httpcore.ConnectTimeout("x"), "did not take a connection", True),
    "read-timeout": (httpcore.ReadTimeout("x"), "silent", True),
    "write-timeout": (httpcore.WriteTimeout("x"), "no more of the request", True),
    "pool-timeout": (httpcore.PoolTimeout("x"), "no connection became free", True),
    "timeout": (httpcore.TimeoutException("x"), "too long", True),
    "proxy": (httpcore.ProxyError("407 Proxy Authentication Required"), "407 Proxy Authentication Required", True),
    "connect": (
        httpcore.ConnectError(OSError(errno.ECONNREFUSED, "Connection refused")),
        "Connection refused",
        True,
    ),
    "network": (
        httpcore.ReadError(OSError(errno.ECONNRESET, "Connection reset by peer")),
        "Connection reset by peer",
        True,
    ),
    "http": (httpcore.RemoteProtocolError("https://hub/x?token=planted"), "not HTTP, or was cut off", True),
    "request": (httpcore.LocalProtocolError("Bearer planted"), "cannot be written", False),
    "protocol": (httpcore.ProtocolError("planted"), "not HTTP", True),
    "unsupported": (httpcore.UnsupportedProtocol("planted"), "scheme", False),
}


@pytest.mark.parametrize("row", FAILURES, ids=[row.id for row in FAILURES])
def test_every_row_of_the_table(row: object) -> None:
    error, says, transient = ROWS[row.id]  # type: ignore[attr-defined]
    assert isinstance(error, EXCHANGE_ERRORS)
    failure = failure_of(error, NAME, HOST, begun=False, silent=True)
    assert says in failure.error.message
    assert failure.error.message.startswith(f"{NAME}: {HOST} did not answer: ")
    assert failure.transient is transient
    assert failure.error.reason is Reason.SOURCE_UNAVAILABLE
    assert "planted" not in failure.error.message + failure.error.hint


def test_an_address_that_nothing_listens_at_shows_where_it_comes_from() -> None:
    failure = failure_of(httpcore.ConnectError("refused"), NAME, HOST, begun=False, silent=True)
    assert "HF_ENDPOINT" in failure.error.hint


@pytest.mark.parametrize(("begun", "silent"), [(False, True), (False, False), (True, False)])
def test_only_a_hub_that_never_answered_is_no_answer(begun: bool, silent: bool) -> None:
    error = failure_of(httpcore.ReadError("x"), NAME, HOST, begun=begun, silent=silent).error
    assert error.reason is Reason.SOURCE_UNAVAILABLE
    assert isinstance(error, NoAnswerError) is silent
    assert ("broke off" if begun else "did not answer") in error.message


def test_a_bound_that_has_passed_is_named_in_place_of_the_socket() -> None:
    assert (
        "within 5 s"
        in failure_of(httpcore.ReadTimeout("x"), NAME, HOST, begun=False, silent=True, late="5 s").error.message
    )


def test_a_proxys_word_is_cut_and_cleaned() -> None:
    message = failure_of(
        httpcore.ProxyError("502 \x1b[31m\n" + "x" * 500), NAME, HOST, begun=False, silent=True
    ).error.message
    assert message.isprintable()
    assert len(message) < 300
