"""Owns what the libraries' failures are called in a message.

Refuses their own words: those may hold a URL, and its query may be a credential.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl

import urllib3.exceptions as failures

#: By the innermost failure that has words.
_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (ConnectionRefusedError, "it refuses connections"),
    (ConnectionResetError, "it reset the connection"),
    (http.client.RemoteDisconnected, "it closed the connection without an answer"),
    (BrokenPipeError, "it closed the connection"),
    (socket.gaierror, "its name does not resolve"),
    (failures.NameResolutionError, "its name does not resolve"),
    (failures.ConnectTimeoutError, "it cannot be reached in time"),
    (TimeoutError, "it does not answer"),
    (failures.TimeoutError, "it does not answer"),
    (failures.IncompleteRead, "the body ended early"),
    (http.client.IncompleteRead, "the body ended early"),
    (failures.InvalidChunkLength, "its answer is not HTTP"),
    (http.client.HTTPException, "its answer is not HTTP"),
)


def why(error: BaseException) -> str:
    """A library's failure in our words."""
    chain = _chain(error)
    for one in chain:
        if isinstance(one, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {one.verify_message}"
    through = "the proxy cannot be reached: " if any(isinstance(one, failures.ProxyError) for one in chain) else ""
    for one in reversed(chain):
        if words := next((words for kind, words in _WORDS if isinstance(one, kind)), ""):
            return through + words
        if isinstance(one, ssl.SSLError):
            return f"{through}TLS failed: {one.reason or 'unexpected end'}"
        if isinstance(one, OSError) and one.errno is not None:
            return f"{through}the connection failed: {os.strerror(one.errno)}"
    return f"{through}the connection failed"


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        inner = next((part for part in current.args if isinstance(part, BaseException)), None)
        current = inner or current.__cause__ or current.__context__
    return chain
