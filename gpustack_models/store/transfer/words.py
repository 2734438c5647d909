"""Owns what the libraries' failures are called in a message.

Refuses their own words: those may hold a URL, and its query may be a credential.
"""

from __future__ import annotations

import http.client
import ssl

import urllib3.exceptions as failures

#: What the libraries' failures are called; never their own words, which may hold a URL with its query.
_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (failures.ProxyError, "the proxy cannot be reached"),
    (failures.NameResolutionError, "its name does not resolve"),
    (failures.ConnectTimeoutError, "it cannot be reached in time"),
    (failures.ReadTimeoutError, "it does not answer"),
    (TimeoutError, "it does not answer"),
    (ConnectionResetError, "it reset the connection"),
    (BrokenPipeError, "it closed the connection"),
    (http.client.RemoteDisconnected, "it closed the connection without an answer"),
    (failures.IncompleteRead, "the body ended early"),
    (http.client.IncompleteRead, "the body ended early"),
    (http.client.HTTPException, "its answer is not HTTP"),
    (failures.InvalidChunkLength, "its answer is not HTTP"),
)


def why(error: BaseException) -> str:
    """A library's failure in our words."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        inner = next((part for part in current.args if isinstance(part, BaseException)), None)
        current = inner or current.__cause__ or current.__context__
    for one in chain:
        if isinstance(one, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {one.verify_message}"
    for one in chain:
        if words := next((words for kind, words in _WORDS if isinstance(one, kind)), ""):
            return words
    for one in reversed(chain):
        if isinstance(one, ssl.SSLError):
            return f"TLS failed: {one.reason or 'unexpected end'}"
        if isinstance(one, OSError) and one.strerror and one.errno is not None:
            return f"the connection failed: {one.strerror}"
    return "the connection failed"
