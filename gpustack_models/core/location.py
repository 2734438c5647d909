"""Owns where bytes are, and one decision: where a request may go next, and whether a token may go along.

Refuses redirects and next pages that would carry a token away from its hub, or step down from https.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urldefrag, urljoin, urlsplit

from gpustack_models.errors import GsmError, Reason

_DEFAULT_PORTS = {"http": 80, "https": 443}
# A host that every parser reads alike. A URL that two parsers read differently is how a token reaches another host.
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_.])?|[0-9a-f:.]+")
_URL_CHARACTERS = re.compile(r"[!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]+")


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
    origin = _origin(url)
    if origin is None:
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"{without_query(url)!r:.300} is not a plain http(s) URL")
    return origin


def is_plain(url: str) -> bool:
    """Whether a URL is http(s), of characters that need no encoding, without a user part, with a host and a port."""
    return _origin(url) is not None


def follow(current: str, location: str, hub: str) -> Hop:
    """The hop of a redirect (hubs.md, "The token never leaves the hub").

    `current` is the URL that answered, `location` its Location header (decoded as latin-1, as HTTP clients do), `hub`
    the endpoint the token belongs to. Another host goes without the token, and whoever follows several hops does not
    give it back after one went without; https to http is not followed: GsmError(SourceUnavailable).
    """
    url = _joined(current, location)
    origin = origin_of(url)
    if urlsplit(current).scheme == "https" and origin[0] == "http":
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"a redirect from https to {without_query(url)} was not followed")
    return Hop(url, send_token=origin == origin_of(hub))


def next_page(current: str, link: str) -> str:
    """The URL of a next page, on the same origin only: GsmError(SourceUnavailable) for any other."""
    url = _joined(current, link)
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


def _origin(url: str) -> tuple[str, str, int] | None:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    default = _DEFAULT_PORTS.get(parts.scheme)
    if default is None or port == 0 or "@" in parts.netloc or not _URL_CHARACTERS.fullmatch(url):
        return None
    return (parts.scheme, host, default if port is None else port) if _HOST.fullmatch(host) else None


def _joined(current: str, location: str) -> str:
    # Servers put raw UTF-8 and spaces into Location; a request line may hold neither.
    try:
        raw = location.strip().encode("latin-1")
    except UnicodeEncodeError:
        raw = location.strip().encode("utf-8", "replace")
    try:
        return urldefrag(urljoin(current, quote(raw, safe="!#$%&'()*+,-./:;=?@[]_~"))).url
    except ValueError:
        return ""
