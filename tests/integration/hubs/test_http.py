"""Owns the HTTP client against servers that mean harm or are broken: every bound, every retry, every redirect."""

from __future__ import annotations

import gzip
import logging
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress

import pytest

from gpustack_models import __version__
from gpustack_models.core.location import Location
from gpustack_models.errors import NoAnswerError, Reason
from gpustack_models.hubs.http import MAX_PAGE_BYTES, HttpClient, HttpOptions, Request

from .clients import NAME, PLANTED, Sleeps, ask, failing
from .wire import Asked, Peer, closed_port, serving

ONCE = HttpOptions(retries=0)
IMPATIENT = HttpOptions(retries=0, read_timeout=0.4, answer_timeout=0.8)


def test_a_request_says_who_asks_and_carries_the_token_to_its_home() -> None:
    with serving(lambda peer, _asked: peer.answer(body=b"x", X_Two="a")) as server:
        answer = ask(f"{server.url}/a%2Fb?c=d")
    assert (answer.status, answer.body, answer.headers["x-two"]) == (200, b"x", "a")
    assert answer.url == f"{server.url}/a%2Fb?c=d"
    (asked,) = server.asked
    assert (asked.method, asked.target) == ("GET", "/a%2Fb?c=d")
    assert asked.headers["user-agent"] == f"gsm/{__version__}"
    assert asked.headers["authorization"] == f"Bearer {PLANTED}"
    assert asked.headers["host"] == server.url.removeprefix("http://")


def test_requests_share_a_connection_and_remember_nothing() -> None:
    with (
        serving(lambda peer, _asked: peer.answer(body=b"{}", Set_Cookie="a=b; Path=/")) as server,
        HttpClient(ONCE) as client,
    ):
        for _ in range(3):
            client.send(Request(NAME, Location(server.url, server.url)))
    assert server.connections == 1
    assert len(server.asked) == 3
    assert all("cookie" not in asked.headers for asked in server.asked)


def test_a_connection_that_the_server_closed_is_no_failure() -> None:
    def script(peer: Peer, asked: Asked) -> None:
        peer.answer(body=b"x")
        peer.sock.close()

    with serving(script) as server, HttpClient(ONCE) as client:
        for _ in range(3):
            assert client.send(Request(NAME, Location(server.url, server.url))).body == b"x"
            time.sleep(0.05)


# --- redirects -------------------------------------------------------------------------------------------------------


def test_a_redirect_on_the_hub_keeps_the_token() -> None:
    def script(peer: Peer, asked: Asked) -> None:
        if asked.target == "/old":
            peer.answer("307 Temporary Redirect", Location="/new")
        else:
            peer.answer(body=b"moved")

    with serving(script) as hub:
        assert ask(f"{hub.url}/old").body == b"moved"
    assert [asked.headers.get("authorization") for asked in hub.asked] == [f"Bearer {PLANTED}"] * 2


@pytest.mark.parametrize("status", ["301 x", "302 x", "303 x", "307 x", "308 x"])
def test_a_redirect_to_another_host_goes_without_the_token_and_back_too(status: str) -> None:
    def elsewhere(peer: Peer, asked: Asked) -> None:
        peer.answer(status, Location=f"{hub.url}/back")

    def script(peer: Peer, asked: Asked) -> None:
        if asked.target == "/back":
            peer.answer(body=b"here")
        else:
            peer.answer(status, Location=f"{cdn.url}/there?signature=x")

    with serving(script) as hub, serving(elsewhere) as cdn:
        assert ask(f"{hub.url}/first").body == b"here"
    assert [asked.headers.get("authorization") for asked in hub.asked] == [f"Bearer {PLANTED}", None]
    assert "authorization" not in cdn.asked[0].headers
    assert cdn.asked[0].target == "/there?signature=x"


def test_redirects_end() -> None:
    with serving(lambda peer, _asked: peer.answer("302 Found", Location="/again?sig=planted")) as server:
        error = failing(server.url, HttpOptions(retries=3))
    assert error.reason is Reason.SOURCE_UNAVAILABLE
    assert len(server.asked) == 10
    assert "planted" not in error.message


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/x", "http://a@127.0.0.1/", "http://[::1", "javascript:x"])
def test_a_redirect_to_nowhere_is_refused(target: str) -> None:
    with serving(lambda peer, _asked: peer.answer("302 Found", Location=target)) as server:
        assert failing(server.url).reason is Reason.SOURCE_UNAVAILABLE
    assert len(server.asked) == 1


def test_a_redirect_without_a_place_is_handed_back() -> None:
    with serving(lambda peer, _asked: peer.answer("302 Found")) as server:
        assert ask(server.url).status == 302


def test_no_log_line_holds_a_token_or_a_signed_url(caplog: pytest.LogCaptureFixture) -> None:
    def script(peer: Peer, asked: Asked) -> None:
        if asked.target == "/":
            peer.answer("302 Found", Location=f"{hub.url}/x?signature=planted")
        else:
            peer.answer(body=b"x")

    with serving(script) as hub, caplog.at_level(logging.INFO):
        ask(f"{hub.url}/")
    assert "planted" in hub.asked[1].target
    assert "planted" not in caplog.text


# --- bounds ----------------------------------------------------------------------------------------------------------


def test_a_page_of_16_mib_is_taken_and_not_one_byte_more() -> None:
    with serving(lambda peer, asked: peer.answer(body=b" " * (MAX_PAGE_BYTES + (asked.target == "/more")))) as server:
        assert len(ask(f"{server.url}/").body) == MAX_PAGE_BYTES
        assert failing(f"{server.url}/more").reason is Reason.MANIFEST_TOO_LARGE


def test_an_announced_size_beyond_the_bound_is_not_waited_for() -> None:
    def script(peer: Peer, asked: Asked) -> None:
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n")
        peer.wait()

    with serving(script) as server:
        assert failing(server.url).reason is Reason.MANIFEST_TOO_LARGE


def test_a_body_without_an_end_ends() -> None:
    def script(peer: Peer, asked: Asked) -> None:
        peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not peer.closing.is_set():
            peer.say(b"10000\r\n" + b"x" * 65536 + b"\r\n")

    with serving(script) as server:
        assert failing(server.url).reason is Reason.MANIFEST_TOO_LARGE


def test_a_compressed_page_is_read() -> None:
    page = b'{"sha": "x"}' * 10_000
    with serving(lambda peer, _asked: peer.answer(body=gzip.compress(page), Content_Encoding="gzip")) as server:
        assert ask(server.url).body == page
    assert server.asked[0].headers["accept-encoding"] == "gzip"


def test_a_decompression_bomb_is_defused() -> None:
    squeezer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(squeezer.compress(bytes(1 << 20)) for _ in range(64)) + squeezer.flush()
    assert len(bomb) < 1 << 20
    with serving(lambda peer, _asked: peer.answer(body=bomb, Content_Encoding="gzip")) as server:
        assert failing(server.url).reason is Reason.MANIFEST_TOO_LARGE


PAGE = gzip.compress(b"page" * 1000)
ENCODINGS = {
    "not gzip": (b"plain text", "gzip"),
    "cut off": (PAGE[:-12], "gzip"),
    "damaged": (PAGE[:20] + b"xxxx" + PAGE[24:], "gzip"),
    "more behind it": (PAGE + b"more", "gzip"),
    "unknown": (PAGE, "br"),
    "twice": (gzip.compress(PAGE), "gzip, gzip"),
}


@pytest.mark.parametrize(("body", "encoding"), ENCODINGS.values(), ids=ENCODINGS.keys())
def test_an_encoding_that_cannot_be_read_is_refused(body: bytes, encoding: str) -> None:
    with serving(lambda peer, _asked: peer.answer(body=body, Content_Encoding=encoding)) as server:
        assert failing(server.url).reason is Reason.SOURCE_UNAVAILABLE


def test_of_a_refusal_no_more_than_its_beginning_is_read() -> None:
    sent = 0

    def script(peer: Peer, asked: Asked) -> None:
        nonlocal sent
        peer.say("HTTP/1.1 403 Forbidden\r\nContent-Length: 1000000000\r\n\r\n")
        with suppress(OSError):
            while not peer.closing.is_set():
                peer.say(b"x" * 65536)
                sent += 65536

    with serving(script) as server:
        answer = ask(server.url)
    assert answer.status == 403
    assert len(answer.body) == 64 << 10
    assert sent < 64 << 20


def test_a_refusal_may_be_compressed_too() -> None:
    # A code in its body may be all that tells a missing revision from a missing repository.
    envelope = gzip.compress(b'{"Code": 10990101004}')
    with serving(lambda peer, _asked: peer.answer("404 x", envelope, Content_Encoding="gzip")) as server:
        assert ask(server.url).body == b'{"Code": 10990101004}'
    bomb = gzip.compress(bytes(64 << 20))
    with serving(lambda peer, _asked: peer.answer("404 x", bomb, Content_Encoding="gzip")) as server:
        assert len(ask(server.url).body) == 64 << 10


Dripping = Callable[[Peer, Asked], None]


def headers_drip(peer: Peer, asked: Asked) -> None:
    peer.drip(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000, 0.1)


def body_drips(peer: Peer, asked: Asked) -> None:
    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    peer.drip(b"x" * 100_000, 0.1)


def continues_for_ever(peer: Peer, asked: Asked) -> None:
    with suppress(OSError):
        while not peer.closing.is_set():
            peer.say(b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.parametrize("script", [headers_drip, body_drips, continues_for_ever], ids=lambda script: script.__name__)
def test_an_answer_that_drips_is_cut_off_at_its_bound(script: Dripping) -> None:
    begun = time.monotonic()
    with serving(script) as server:
        error = failing(server.url, IMPATIENT)
    assert error.reason is Reason.SOURCE_UNAVAILABLE
    assert "within 0.8 s" in error.message
    assert isinstance(error, NoAnswerError) is (script is not body_drips)
    assert 0.7 < time.monotonic() - begun < 10


def test_headers_are_bounded() -> None:
    def script(peer: Peer, asked: Asked) -> None:
        peer.say("HTTP/1.1 200 OK\r\n")
        with suppress(OSError):
            for number in range(100_000):
                peer.say(f"X-{number}: {'x' * 100}\r\n")

    with serving(script) as server:
        assert failing(server.url).reason is Reason.SOURCE_UNAVAILABLE


# --- silence and breaks ----------------------------------------------------------------------------------------------


def not_http(peer: Peer, asked: Asked) -> None:
    peer.say("SSH-2.0-OpenSSH_9.2\r\n")
    peer.sock.close()


def nothing(peer: Peer, asked: Asked) -> None:
    peer.wait()


def resets(peer: Peer, asked: Asked) -> None:
    peer.reset()


def closes(peer: Peer, asked: Asked) -> None:
    peer.sock.close()


def half_a_line(peer: Peer, asked: Asked) -> None:
    peer.say("HTTP/1.1 20")
    peer.sock.close()


@pytest.mark.parametrize("script", [not_http, nothing, resets, closes, half_a_line], ids=lambda script: script.__name__)
def test_what_answers_nothing_is_no_answer(script: Dripping) -> None:
    with serving(script) as server:
        error = failing(server.url, IMPATIENT)
    assert isinstance(error, NoAnswerError)
    assert error.message.startswith(f"{NAME}: {server.url} did not answer: ")


def test_a_closed_port_is_no_answer() -> None:
    error = failing(f"http://127.0.0.1:{closed_port()}")
    assert isinstance(error, NoAnswerError)
    assert "Connection refused" in error.message


def test_a_name_without_an_address_is_no_answer() -> None:
    assert isinstance(failing("http://no-such-host.invalid"), NoAnswerError)


def reset_in_the_body(peer: Peer, asked: Asked) -> None:
    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nxx")
    time.sleep(0.1)
    peer.reset()


def cut_in_the_body(peer: Peer, asked: Asked) -> None:
    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nxx")
    peer.sock.close()


def cut_in_a_chunk(peer: Peer, asked: Asked) -> None:
    peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nxx")
    peer.sock.close()


@pytest.mark.parametrize(
    "script", [reset_in_the_body, cut_in_the_body, cut_in_a_chunk], ids=lambda script: script.__name__
)
def test_an_answer_that_breaks_off_did_begin(script: Dripping) -> None:
    with serving(script) as server:
        error = failing(server.url)
    assert error.reason is Reason.SOURCE_UNAVAILABLE
    assert not isinstance(error, NoAnswerError)
    assert "broke off" in error.message


# --- retries ---------------------------------------------------------------------------------------------------------


def first(count: int, fault: Dripping, then: Dripping) -> Dripping:
    lock, turns = threading.Lock(), iter(range(1000))

    def script(peer: Peer, asked: Asked) -> None:
        with lock:
            turn = next(turns)
        (fault if turn < count else then)(peer, asked)

    return script


def good(peer: Peer, asked: Asked) -> None:
    peer.answer(body=b"good")


def status(line: str, **headers: object) -> Dripping:
    return lambda peer, _asked: peer.answer(line, b"x", **headers)


TRANSIENT = {
    "a reset": resets,
    "a body cut off": cut_in_the_body,
    "500": status("500 x"),
    "502": status("502 x"),
    "503": status("503 x"),
    "429": status("429 x"),
}


@pytest.mark.parametrize("fault", TRANSIENT.values(), ids=TRANSIENT.keys())
def test_what_may_pass_is_asked_again(fault: Dripping) -> None:
    sleeps = Sleeps()
    with serving(first(3, fault, good)) as server:
        assert ask(server.url, HttpOptions(retries=3), pace=sleeps.pace()).body == b"good"
    assert len(server.asked) == 4
    assert sleeps.slept == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("fault", TRANSIENT.values(), ids=TRANSIENT.keys())
def test_retries_are_bounded(fault: Dripping) -> None:
    with serving(fault) as server:
        if fault in (resets, cut_in_the_body):
            assert failing(server.url, HttpOptions(retries=2)).reason is Reason.SOURCE_UNAVAILABLE
        else:
            assert ask(server.url, HttpOptions(retries=2)).status in (429, 500, 502, 503)
    assert len(server.asked) == 3


@pytest.mark.parametrize("line", ["400 x", "401 x", "403 x", "404 x", "410 x", "200 x", "204 x"])
def test_what_will_not_pass_is_asked_once(line: str) -> None:
    with serving(status(line)) as server:
        assert ask(server.url, HttpOptions(retries=3)).status == int(line.split()[0])
    assert len(server.asked) == 1


def test_jitter_spreads_the_attempts() -> None:
    sleeps = Sleeps()
    with serving(status("503 x")) as server:
        ask(server.url, HttpOptions(retries=3), pace=sleeps.pace(jitter=0.0))
    assert sleeps.slept == [0.25, 0.5, 1.0]


def test_what_the_server_asks_for_is_waited() -> None:
    sleeps = Sleeps()
    with serving(first(1, status("429 x", Retry_After="7"), good)) as server:
        assert ask(server.url, HttpOptions(retries=1), pace=sleeps.pace(jitter=0.0)).body == b"good"
    assert sleeps.slept == [7.0]


def test_what_the_deadline_does_not_allow_is_reported_at_once() -> None:
    sleeps = Sleeps()
    with serving(status("429 x", Retry_After="30")) as server:
        answer = ask(server.url, HttpOptions(retries=3, deadline=20), pace=sleeps.pace(jitter=0.0))
    assert (answer.status, answer.retry_after) == (429, 30.0)
    assert len(server.asked) == 1
    assert sleeps.slept == []


def test_the_deadline_bounds_every_attempt_together() -> None:
    begun = time.monotonic()
    with serving(nothing) as server:
        error = failing(server.url, HttpOptions(retries=50, read_timeout=0.3, deadline=1))
    assert isinstance(error, NoAnswerError)
    assert 0.2 < time.monotonic() - begun < 5
    assert 2 <= len(server.asked) <= 5


def test_after_the_deadline_nothing_is_sent() -> None:
    with serving(good) as server, HttpClient(HttpOptions(deadline=0.05)) as client:
        time.sleep(0.1)
        with pytest.raises(NoAnswerError, match=r"within the 0\.05 s that were given"):
            client.send(Request(NAME, Location(server.url, server.url)))
    assert server.asked == []


def test_a_pause_is_told_with_its_cause() -> None:
    told: list[tuple[float, str]] = []
    with serving(first(1, status("503 x"), good)) as server:
        pace = Sleeps().pace(jitter=1.0)
        with HttpClient(HttpOptions(), pace, on_wait=lambda seconds, cause: told.append((seconds, cause))) as client:
            client.send(Request(NAME, Location(server.url, server.url)))
    assert told == [(0.5, f"{NAME}: {server.url} answered 503")]


def test_many_threads_share_a_client() -> None:
    with serving(lambda peer, asked: peer.answer(body=asked.target.encode())) as server, HttpClient(ONCE) as client:
        answers: dict[int, bytes] = {}

        def work(number: int) -> None:
            url = f"{server.url}/{number}"
            answers[number] = client.send(Request(NAME, Location(url, server.url))).body

        threads = [threading.Thread(target=work, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == {number: f"/{number}".encode() for number in range(40)}
