"""Owns the ways to a hub: proxies of both kinds, going around them, a private authority beside the system's roots."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_models.core.location import Location
from gpustack_models.core.manifest import Manifest
from gpustack_models.core.network import from_environment
from gpustack_models.core.refs import HubKind
from gpustack_models.errors import GsmError, NoAnswerError, Reason
from gpustack_models.hub_server import LocalHub
from gpustack_models.hubs.http import HttpClient, HttpOptions, Request
from gpustack_models.hubs.open import open_hub
from gpustack_models.hubs.transport import trust
from tests.integration.conftest import HubFactory, Publish

from .clients import NAME, PLANTED, Sleeps, ask, failing
from .wire import Asked, Authority, Peer, Server, authority, closed_port, fronting, proxying, serving


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("authority"))


def good(peer: Peer, asked: Asked) -> None:
    peer.answer(body=b"good")


@pytest.fixture
def secure(private: Authority) -> Iterator[Server]:
    with serving(good, private.context) as server:
        yield server


def options(**given: object) -> HttpOptions:
    return HttpOptions(retries=0, read_timeout=5, connect_timeout=5, **given)  # type: ignore[arg-type]


# --- proxies ---------------------------------------------------------------------------------------------------------


def test_a_plain_hub_is_asked_through_a_forward_proxy() -> None:
    with serving(good) as hub, proxying() as proxy:
        assert ask(f"{hub.url}/a?b=c", options(http_proxy=proxy.url)).body == b"good"
    assert [(asked.method, asked.target) for asked in proxy.asked] == [("GET", f"{hub.url}/a?b=c")]
    assert hub.asked[0].headers["authorization"] == f"Bearer {PLANTED}"


def test_a_secure_hub_is_tunnelled_to_and_the_proxy_sees_no_token(secure: Server, private: Authority) -> None:
    with proxying() as proxy:
        assert ask(secure.url, options(proxy=proxy.url, ca_bundle=str(private.bundle))).body == b"good"
    (connect,) = proxy.asked
    assert (connect.method, connect.target) == ("CONNECT", secure.url.removeprefix("https://"))
    assert "authorization" not in connect.headers
    assert secure.asked[0].headers["authorization"] == f"Bearer {PLANTED}"


def test_a_proxy_that_speaks_tls_is_spoken_to_in_tls(secure: Server, private: Authority) -> None:
    with proxying(context=private.context) as proxy:
        assert ask(secure.url, options(proxy=proxy.url, ca_bundle=str(private.bundle))).body == b"good"
    assert [asked.method for asked in proxy.asked] == ["CONNECT"]


def test_a_proxy_learns_its_user_and_the_hub_does_not(secure: Server, private: Authority) -> None:
    with proxying(user="me", password="p@ss") as proxy:
        named = proxy.url.replace("http://", "http://me:p%40ss@")
        assert ask(secure.url, options(proxy=named, ca_bundle=str(private.bundle))).body == b"good"
        with serving(good) as hub:
            assert ask(hub.url, options(http_proxy=named)).body == b"good"
    for asked in (*secure.asked, *hub.asked):
        assert "proxy-authorization" not in asked.headers


def test_a_proxy_that_refuses_is_named_without_its_password(secure: Server, private: Authority) -> None:
    with proxying(user="me", password="right") as proxy:
        named = proxy.url.replace("http://", "http://me:planted@")
        error = failing(secure.url, options(proxy=named, ca_bundle=str(private.bundle)))
    assert isinstance(error, NoAnswerError)
    assert "407" in error.message
    assert "planted" not in error.message + error.hint
    assert secure.asked == []


def test_a_proxy_that_is_away_is_no_answer(secure: Server) -> None:
    error = failing(secure.url, options(proxy=f"http://127.0.0.1:{closed_port()}"))
    assert isinstance(error, NoAnswerError)


def test_a_hub_behind_the_proxy_that_is_away_is_no_answer() -> None:
    with proxying() as proxy:
        error = failing(f"https://127.0.0.1:{closed_port()}", options(proxy=proxy.url))
    assert isinstance(error, NoAnswerError)
    assert "502" in error.message


@pytest.mark.parametrize("no_proxy", ["*", "127.0.0.1", "127.0.0.0/8", "other.example, 127.0.0.1"])
def test_a_hub_on_the_list_is_asked_without_the_proxy(no_proxy: str) -> None:
    with serving(good) as hub, proxying() as proxy:
        assert ask(hub.url, options(http_proxy=proxy.url, no_proxy=no_proxy)).body == b"good"
    assert proxy.asked == []
    assert len(hub.asked) == 1


def test_a_redirect_around_the_proxy_goes_around_it() -> None:
    def elsewhere(peer: Peer, asked: Asked) -> None:
        peer.answer("302 Found", Location=f"{near.url.replace('127.0.0.1', 'localhost')}/x")

    with serving(good) as near, serving(elsewhere) as hub, proxying() as proxy:
        assert ask(hub.url, options(http_proxy=proxy.url, no_proxy="localhost")).body == b"good"
    assert len(proxy.asked) == 1
    assert near.asked[0].target == "/x"


def test_a_whole_resolution_goes_through_a_proxy(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", {"a.json": "{}", "b.bin": b"x" * 2000})
    hub = local_hub()
    with (
        proxying() as proxy,
        open_hub(HubKind.HUGGING_FACE, hub.url, None, from_environment({"http_proxy": proxy.url})) as opened,
    ):
        commit = opened.resolve("org/model", "main")
        assert Manifest.of(opened.list("org/model", commit)).file_count == 2
        opened.check_access("org/model", commit)
    assert len(proxy.asked) == len(hub.requests) == 4


# --- authorities -----------------------------------------------------------------------------------------------------


def test_an_authority_that_nobody_knows_is_not_trusted(secure: Server) -> None:
    error = failing(secure.url, HttpOptions(retries=3))
    assert isinstance(error, NoAnswerError)
    assert "certificate is not trusted" in error.message
    assert "SSL_CERT_FILE" in error.hint
    assert secure.asked == []
    assert secure.connections == 1, "asking again would not help"


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_a_bundle_by_the_usual_variables_is_trusted(secure: Server, private: Authority, variable: str) -> None:
    assert ask(secure.url, from_environment({variable: str(private.bundle)})).body == b"good"


def test_a_folder_of_certificates_is_trusted(secure: Server, private: Authority, tmp_path: Path) -> None:
    digest = subprocess.run(
        ["openssl", "x509", "-hash", "-noout", "-in", str(private.bundle)], capture_output=True, text=True, check=True
    ).stdout.strip()
    (tmp_path / f"{digest}.0").write_bytes(private.bundle.read_bytes())
    assert ask(secure.url, options(ca_bundle=str(tmp_path))).body == b"good"


def test_a_bundle_stands_beside_the_systems_roots(private: Authority) -> None:
    # In a process of its own, where OpenSSL itself would read the variable in place of the system's roots.
    program = (
        "import sys; from gpustack_models.hubs.transport import trust; "
        "print(*(trust(bundle).cert_store_stats()['x509_ca'] for bundle in ('', sys.argv[1])))"
    )
    counts: list[list[int]] = []
    for extra in ({}, {"SSL_CERT_FILE": str(private.bundle), "SSL_CERT_DIR": "/nowhere"}):
        done = subprocess.run(
            [sys.executable, "-c", program, str(private.bundle)],
            env={**os.environ, **extra},
            capture_output=True,
            text=True,
            check=True,
        )
        counts.append([int(word) for word in done.stdout.split()])
    assert counts[0] == counts[1]
    system, beside = counts[0]
    assert beside == system + 1


BAD_BUNDLES = {
    "missing": None,
    "empty": b"",
    "no certificate": b"-----BEGIN NOTHING-----\nplanted\n-----END NOTHING-----\n",
    "a damaged certificate": b"-----BEGIN CERTIFICATE-----\nplanted\n-----END CERTIFICATE-----\n",
}


@pytest.mark.parametrize("content", BAD_BUNDLES.values(), ids=BAD_BUNDLES.keys())
def test_a_bundle_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None) -> None:
    bundle = tmp_path / "bundle.pem"
    if content is not None:
        bundle.write_bytes(content)
    with pytest.raises(GsmError) as caught:
        trust(str(bundle))
    assert caught.value.reason is Reason.INVALID_INPUT
    assert str(bundle) in caught.value.message
    assert "planted" not in caught.value.message


@pytest.mark.parametrize(("name", "days"), [("other.example", 1), ("127.0.0.1", -1)], ids=["another name", "expired"])
def test_a_certificate_of_another_or_of_yesterday_is_refused(tmp_path: Path, name: str, days: int) -> None:
    made = authority(tmp_path, name, days=days)
    with serving(good, made.context) as server:
        error = failing(server.url, options(ca_bundle=str(made.bundle)))
    assert isinstance(error, NoAnswerError)
    assert server.asked == []


def test_a_plain_server_does_not_speak_tls() -> None:
    with serving(good) as server:
        error = failing(server.url.replace("http://", "https://"), HttpOptions(retries=0, connect_timeout=1))
    assert isinstance(error, NoAnswerError)


def test_a_secure_hub_never_sends_on_to_a_plain_one(private: Authority) -> None:
    with (
        serving(good) as plain,
        serving(lambda peer, _asked: peer.answer("302 x", Location=f"{plain.url}/x"), private.context) as hub,
    ):
        error = failing(hub.url, options(ca_bundle=str(private.bundle)))
    assert error.reason is Reason.SOURCE_UNAVAILABLE
    assert "from https to" in error.message
    assert plain.asked == []


def test_a_plain_hub_may_send_on_to_a_secure_one_without_the_token(secure: Server, private: Authority) -> None:
    with serving(lambda peer, _asked: peer.answer("302 x", Location=f"{secure.url}/x")) as hub:
        assert ask(hub.url, options(ca_bundle=str(private.bundle))).body == b"good"
    assert "authorization" not in secure.asked[0].headers


def test_a_hub_with_a_private_authority_is_asked_whole(
    publish: Publish, local_hub: HubFactory, private: Authority
) -> None:
    publish("org/model", {"a.json": "{}", "d/b.bin": b"x" * 2000})
    hub: LocalHub = local_hub()
    behind = int(hub.url.rpartition(":")[2])
    with (
        fronting(behind, private.context) as front,
        HttpClient(options(ca_bundle=str(private.bundle)), Sleeps().pace()) as client,
    ):
        whoami = client.send(Request(NAME, Location(f"{front.url}/api/whoami-v2", front.url)))
        assert whoami.status == 401
        for kind, revision in ((HubKind.HUGGING_FACE, "main"), (HubKind.MODEL_SCOPE, "master")):
            with open_hub(kind, front.url, None, options(ca_bundle=str(private.bundle))) as opened:
                commit = opened.resolve("org/model", revision)
                assert len(opened.list("org/model", commit)) == 2
                opened.check_access("org/model", commit)
