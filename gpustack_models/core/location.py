"""Owns where bytes are, and one decision: where a request may go next, and whether a token may go along.

Refuses redirects and next pages that would carry a token away from its hub, or step down from https.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from gpustack_models.errors import GsmError, Reason

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Location:
    """Where the bytes of one file are: a URL below an endpoint, and the headers for that endpoint alone.

    Redirects from it go by `follow(current, location, endpoint)`; the headers carry the token, so never print them.
    """

    url: str
    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Hop:
    """Where to go, and whether the Authorization header goes along."""

    url: str
    send_token: bool


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, lowercase host and port of an http(s) URL. Raises GsmError(SourceUnavailable) for any other."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.username or parts.password:
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"{without_query(url)!r} is not a plain http(s) URL")
    return parts.scheme, parts.hostname.lower(), port or _DEFAULT_PORTS[parts.scheme]


def follow(current: str, location: str, hub: str) -> Hop:
    """The hop of a redirect (hubs.md, "The token never leaves the hub").

    `current` is the URL that answered, `location` its Location header, `hub` the endpoint the token belongs to.
    Another host goes without the token; https to http is not followed: GsmError(SourceUnavailable).
    """
    url = urljoin(current, location)
    origin = origin_of(url)
    if urlsplit(current).scheme == "https" and origin[0] == "http":
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"a redirect from https to {without_query(url)} was not followed")
    return Hop(url, send_token=origin == origin_of(hub))


def next_page(current: str, link: str) -> str:
    """The URL of a next page, on the same origin only: GsmError(SourceUnavailable) for any other."""
    url = urljoin(current, link)
    if origin_of(url) != origin_of(current):
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"the next page is on another host ({without_query(url)})")
    return url


def without_query(url: str) -> str:
    """A URL fit for a message or a log: a signed URL's query is a credential, and so is its user part."""
    base = url.partition("#")[0].partition("?")[0]
    scheme, separator, rest = base.partition("://")
    if not separator:
        return base
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
