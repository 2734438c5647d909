"""Owns where a request may go next and whether the token goes along, hostile servers included. Refuses sockets."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.location import Hop, Location, follow, is_plain, next_page, origin_of, without_query
from gpustack_models.errors import GsmError, Reason

HUB = "https://hub.example"

HOPS = {
    "relative": ("/api/models/new", Hop(f"{HUB}/api/models/new", True)),
    "the hub in full": (f"{HUB}/x?y=1", Hop(f"{HUB}/x?y=1", True)),
    "the hub with its port": (f"{HUB}:443/x", Hop(f"{HUB}:443/x", True)),
    "the hub in capitals": ("HTTPS://HUB.EXAMPLE/x", Hop("https://HUB.EXAMPLE/x", True)),
    "another port": (f"{HUB}:8443/x", Hop(f"{HUB}:8443/x", False)),
    "another host": ("https://cdn.example/x?sig=1", Hop("https://cdn.example/x?sig=1", False)),
    "a host below the hub": ("https://cdn.hub.example/x", Hop("https://cdn.hub.example/x", False)),
    "a host that begins like it": ("https://hub.example.evil/x", Hop("https://hub.example.evil/x", False)),
    "without a scheme": ("//cdn.example/x", Hop("https://cdn.example/x", False)),
    "a fragment is dropped": ("/x#token", Hop(f"{HUB}/x", True)),
    "no host is the same host": ("https:///x", Hop(f"{HUB}/x", True)),
    "a space is encoded": ("/a b", Hop(f"{HUB}/a%20b", True)),
    "raw UTF-8 is encoded": ("/é".encode().decode("latin-1"), Hop(f"{HUB}/%C3%A9", True)),
    "what is encoded stays": ("/a%2Fb", Hop(f"{HUB}/a%2Fb", True)),
}


@pytest.mark.parametrize(("location", "hop"), HOPS.values(), ids=HOPS.keys())
def test_a_redirect_is_followed(location: str, hop: Hop) -> None:
    assert follow(f"{HUB}/api/models/old", location, HUB) == hop


NOT_FOLLOWED = {
    "down from https": "http://hub.example/x",
    "down from https elsewhere": "http://cdn.example/x",
    "a file": "file:///etc/passwd",
    "data": "data:text/plain,x",
    "a user part": "https://hub.example@evil.example/x",
    "an empty user part": "https://@evil.example/x",
    "a backslash": "https://evil.example\\@hub.example/x",
    "a backslash path": "https://evil.example\\.hub.example/x",
    "port zero": "https://hub.example:0/x",
    "a port out of range": "https://hub.example:99999/x",
    "a port that is none": "https://hub.example:x/x",
    "half an address": "https://[::1/x",
    "another script": "https://hub.еxample/x",
    "an encoded host": "https://hub%2Eexample/x",
}


@pytest.mark.parametrize("location", NOT_FOLLOWED.values(), ids=NOT_FOLLOWED.keys())
def test_a_redirect_is_not_followed(location: str) -> None:
    with pytest.raises(GsmError) as caught:
        follow(f"{HUB}/x", location, HUB)
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


def test_a_plain_hub_may_send_to_https_but_not_with_the_token() -> None:
    assert follow("http://hub.example/x", "https://hub.example/x", "http://hub.example") == Hop(f"{HUB}/x", False)


@given(st.text(max_size=30))
def test_the_token_goes_to_the_hubs_own_origin_only(location: str) -> None:
    try:
        hop = follow(f"{HUB}/x", location, HUB)
    except GsmError as error:
        refused = error
    else:
        parts = urlsplit(hop.url)
        assert hop.send_token is (
            parts.scheme == "https" and parts.hostname == "hub.example" and parts.port in (None, 443)
        )
        assert hop.url.isascii()
        assert hop.url.isprintable()
        assert " " not in hop.url
        return
    assert refused.reason is Reason.SOURCE_UNAVAILABLE


def test_a_next_page_stays_on_its_origin() -> None:
    first = f"{HUB}/api/models/a/b/tree/c?recursive=true"
    assert next_page(first, "/api/x?cursor=1") == f"{HUB}/api/x?cursor=1"
    assert next_page(first, f"{HUB}/api/x?cursor=a%3D") == f"{HUB}/api/x?cursor=a%3D"
    for link in (
        "https://evil.example/x?cursor=signed",
        "http://hub.example/x",
        "https://hub.example:8443/x",
        "mailto:a",
    ):
        with pytest.raises(GsmError) as caught:
            next_page(first, link)
        assert caught.value.reason is Reason.SOURCE_UNAVAILABLE
        assert "signed" not in caught.value.message


ORIGINS = {
    "http://hub.example": ("http", "hub.example", 80),
    "https://Hub.Example:8443/a": ("https", "hub.example", 8443),
    "http://127.0.0.1:5000": ("http", "127.0.0.1", 5000),
    "http://[::1]:5000": ("http", "::1", 5000),
    "https://[2001:db8::1]/x": ("https", "2001:db8::1", 443),
    "http://localhost": ("http", "localhost", 80),
}


@pytest.mark.parametrize(("url", "origin"), ORIGINS.items(), ids=ORIGINS.keys())
def test_an_origin_is_scheme_host_and_port(url: str, origin: tuple[str, str, int]) -> None:
    assert origin_of(url) == origin
    assert is_plain(url)


SHOWN = {
    "https://hub.example/a?sig=1": "https://hub.example/a",
    "https://user:secret@hub.example/a": "https://hub.example/a",
    "https://a@b@hub.example": "https://hub.example",
    "https://hub.example#x": "https://hub.example",
    "/relative?x": "/relative",
}


@pytest.mark.parametrize(("url", "shown"), SHOWN.items(), ids=SHOWN.keys())
def test_what_is_shown_of_a_url(url: str, shown: str) -> None:
    assert without_query(url) == shown


def test_a_location_never_prints_its_headers() -> None:
    location = Location(f"{HUB}/x", HUB, {"Authorization": "Bearer planted"})
    assert location.headers["Authorization"] == "Bearer planted"
    assert "planted" not in f"{location!r}{location}"
