"""Owns what the data plane makes of a wire that fails: a fault met once is got over, a lasting one has its reason.

Refuses timings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.sources import Origin
from tests.integration.store.faultserver import (
    Behaviour,
    FaultServer,
    answer_range,
    at_most,
    chunked,
    claim_length,
    drip_headers,
    end_at,
    flip,
    ignore_range,
    raw,
    redirect,
    reset_at,
    serve,
    stall_at,
    status,
    with_etag,
)
from tests.integration.store.transferring import MIB, SIGNATURE, TOKEN, From, Got, fetch, make_transfer, noise, want

SMALL = noise(300_000)
#: Beyond one request's memory, and with a tail that no buffer's size divides.
LARGE = noise(12 * MIB + 12_345)
CONTENTS = {"small": SMALL, "large": LARGE}


@pytest.fixture
def server() -> Iterator[FaultServer]:
    server = FaultServer({"small": SMALL, "large": LARGE})
    yield server
    server.close()


# Each is met by the first request for the file; the next ones are answered rightly.
PASSING: dict[str, Behaviour] = {
    "reset before the headers": reset_at(-1),
    "reset at once": reset_at(0),
    "reset in the middle": reset_at(200_000),
    "closed before the headers": end_at(-1),
    "closed too early": end_at(250_000),
    "silent before the headers": stall_at(-1),
    "stalled in the middle": stall_at(200_000),
    "headers that drip": drip_headers,
    "500": status("500 Internal Server Error"),
    "502": status("502 Bad Gateway"),
    "503": status("503 Service Unavailable"),
    "429": status("429 Too Many Requests"),
    "429, later": status("429 Too Many Requests", retry_after="0"),
    "408": status("408 Request Timeout"),
    "204": status("204 No Content"),
    "not HTTP": raw(b"\x00\x01\x02 what?\r\n\r\n"),
    "half a status line": raw(b"HTTP/1.1 2"),
    "compressed unasked": status("200 OK", content_encoding="gzip"),
    "chunks that end early": chunked(-100_000, whole=False),
    "another range": answer_range(shift=1),
    "a range that is none": answer_range(text="bytes one-two/three"),
    "a range without its header": status("206 Partial Content"),
}


#: Those that are waited out; no other must be taken for one of them where the machine is slow.
SILENCES = {"silent before the headers", "stalled in the middle", "headers that drip"}


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_is_got_over(server: FaultServer, tmp_path: Path, name: str, fault: str) -> None:
    server.then(name, PASSING[fault])
    transfer = make_transfer(stall=0.5 if fault in SILENCES else 3)
    got = fetch([want(name, CONTENTS[name])], tmp_path, [From(server.url)], transfer=transfer)
    assert got.content(name) == CONTENTS[name]
    assert len(server.asked(name)) >= 2
    assert got.report is not None
    assert got.report.failures == ()


# Each is met by every request for the file.
LASTING: dict[str, tuple[Behaviour, Reason, str]] = {
    "reset before the headers": (reset_at(-1), Reason.SOURCE_UNAVAILABLE, "closed|reset"),
    "reset at once": (reset_at(0), Reason.SOURCE_UNAVAILABLE, "reset"),
    "silent": (stall_at(-1), Reason.SOURCE_UNAVAILABLE, "does not answer|stalled"),
    "stalled at once": (stall_at(0), Reason.SOURCE_UNAVAILABLE, "does not answer|stalled"),
    "headers that drip": (drip_headers, Reason.SOURCE_UNAVAILABLE, "stalled"),
    "503": (status("503 Service Unavailable"), Reason.SOURCE_UNAVAILABLE, "answered 503"),
    "429": (status("429 Too Many Requests"), Reason.SOURCE_UNAVAILABLE, "answered 429"),
    "401": (status("401 Unauthorized"), Reason.ACCESS_DENIED, "answered 401"),
    "403": (status("403 Forbidden"), Reason.ACCESS_DENIED, "answered 403"),
    "404": (status("404 Not Found"), Reason.ACCESS_DENIED, "does not exist or is not accessible"),
    "not HTTP": (raw(b"what?\r\n\r\n"), Reason.SOURCE_UNAVAILABLE, "not HTTP"),
    "redirects in a circle": (redirect("/small"), Reason.SOURCE_UNAVAILABLE, "redirects more than"),
    "redirect to no URL": (redirect("ftp://127.0.0.1/x"), Reason.SOURCE_UNAVAILABLE, "not a plain"),
    "one byte too many": (claim_length(1), Reason.INTEGRITY_MISMATCH, "300001 bytes"),
    "one byte too few": (claim_length(-1), Reason.INTEGRITY_MISMATCH, "299999 bytes"),
    "more than was told": (chunked(1), Reason.INTEGRITY_MISMATCH, "more than the 300000 bytes"),
    "fewer than it says": (chunked(-1), Reason.SOURCE_UNAVAILABLE, "ended early"),
    "a bit at the start": (flip(0), Reason.INTEGRITY_MISMATCH, "the manifest says sha256:"),
    "a bit in the middle": (flip(150_000), Reason.INTEGRITY_MISMATCH, "the manifest says sha256:"),
    "a bit at the end": (flip(-1), Reason.INTEGRITY_MISMATCH, "the manifest says sha256:"),
}


@pytest.mark.parametrize(("fault", "reason", "words"), LASTING.values(), ids=LASTING)
def test_a_fault_that_lasts_has_its_reason(
    server: FaultServer, tmp_path: Path, fault: Behaviour, reason: Reason, words: str
) -> None:
    server.always["small"] = fault
    got = Got()
    # A silence is waited out a dozen times; any other fault must not be taken for one where the machine is slow.
    stall = 0.4 if "stalled" in words else 3
    with pytest.raises(GsmError, match=words) as caught:
        fetch([want("small", SMALL)], tmp_path, [From(server.url)], got=got, transfer=make_transfer(stall=stall))
    error = caught.value
    assert error.reason is reason
    assert "small" in error.message
    assert "127.0.0.1" in error.message
    assert TOKEN not in f"{error.message}{error.hint}"
    assert SIGNATURE not in f"{error.message}{error.hint}"
    assert got.files == {}


# The same for a file that is received in parts, where the whole never sees one answer.
LASTING_LARGE: dict[str, tuple[Behaviour, Reason, str]] = {
    "one byte too many": (claim_length(1), Reason.INTEGRITY_MISMATCH, "bytes, and the manifest says"),
    "more than was told": (chunked(1), Reason.INTEGRITY_MISMATCH, "more than the"),
    "fewer than it says": (chunked(-1), Reason.SOURCE_UNAVAILABLE, "ended early"),
    "a bit at the start": (flip(0), Reason.INTEGRITY_MISMATCH, "the manifest says sha256:"),
    "a bit in the middle": (flip(6 * MIB), Reason.INTEGRITY_MISMATCH, "the manifest says sha256:"),
    "a bit at the end": (flip(-1), Reason.INTEGRITY_MISMATCH, "the manifest says sha256:"),
    "404": (status("404 Not Found"), Reason.ACCESS_DENIED, "not accessible"),
}


@pytest.mark.parametrize(("fault", "reason", "words"), LASTING_LARGE.values(), ids=LASTING_LARGE)
def test_a_fault_that_lasts_in_a_large_file_has_its_reason(
    server: FaultServer, tmp_path: Path, fault: Behaviour, reason: Reason, words: str
) -> None:
    server.always["large"] = fault
    got = Got()
    with pytest.raises(GsmError, match=words) as caught:
        fetch([want("large", LARGE)], tmp_path, [From(server.url)], got=got)
    assert caught.value.reason is reason
    assert got.files == {}
    if reason is Reason.INTEGRITY_MISMATCH and "sha256" in words:
        assert os.listdir(tmp_path) == [], "wrong bytes were kept"


def test_a_cut_is_gone_on_from_the_last_byte(server: FaultServer, tmp_path: Path) -> None:
    server.then("large", end_at(5 * MIB), end_at(3 * MIB))
    got = fetch([want("large", LARGE)], tmp_path, [From(server.url)])
    starts = [(one.range or (0, 0))[0] for one in server.asked("large")]
    assert starts == [0, 5 * MIB, 8 * MIB]
    assert got.report is not None
    assert got.report.received == {Origin.HUB: len(LARGE)}


def test_a_server_that_ignores_ranges_is_read_as_one(server: FaultServer, tmp_path: Path) -> None:
    server.then("large", end_at(5 * MIB))
    server.always["large"] = ignore_range
    got = fetch([want("large", LARGE)], tmp_path, [From(server.url)])
    assert got.content("large") == LARGE
    assert got.report is not None
    assert got.report.received == {Origin.HUB: len(LARGE) + 5 * MIB}


def test_a_range_that_stays_wrong_is_not_trusted(server: FaultServer, tmp_path: Path) -> None:
    server.then("large", end_at(5 * MIB))
    server.always["large"] = answer_range(shift=1)
    with pytest.raises(GsmError, match="answered 'bytes") as caught:
        fetch([want("large", LARGE)], tmp_path, [From(server.url)])
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


def test_a_range_of_another_size_half_way_is_a_mismatch(server: FaultServer, tmp_path: Path) -> None:
    server.then("large", end_at(5 * MIB))
    server.always["large"] = answer_range(total=1)
    with pytest.raises(GsmError, match="and the manifest says") as caught:
        fetch([want("large", LARGE)], tmp_path, [From(server.url)])
    assert caught.value.reason is Reason.INTEGRITY_MISMATCH


def test_a_file_that_ends_before_the_range_is_a_mismatch(server: FaultServer, tmp_path: Path) -> None:
    server.then("large", end_at(5 * MIB))
    server.always["large"] = status("416 Range Not Satisfiable", content_range="bytes */4096")
    with pytest.raises(GsmError, match="serves 4096 bytes") as caught:
        fetch([want("large", LARGE)], tmp_path, [From(server.url)])
    assert caught.value.reason is Reason.INTEGRITY_MISMATCH


def test_another_etag_half_way_is_caught(server: FaultServer, tmp_path: Path) -> None:
    server.then("large", end_at(5 * MIB))
    server.always["large"] = with_etag('"v2"')
    with pytest.raises(GsmError, match='ETag "v1", then "v2"') as caught:
        fetch([want("large", LARGE)], tmp_path, [From(server.url)])
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE
    server.always["large"] = serve
    got = fetch([want("large", LARGE)], tmp_path, [From(server.url)])
    assert got.content("large") == LARGE
    assert got.report is not None
    assert got.report.kept == 5 * MIB


def test_short_ranges_are_taken_for_what_they_are(server: FaultServer, tmp_path: Path) -> None:
    server.then("large", end_at(MIB))
    server.always["large"] = at_most(3 * MIB)
    got = fetch([want("large", LARGE)], tmp_path, [From(server.url)])
    assert got.content("large") == LARGE
    assert len(server.asked("large")) == 1 + 4


def test_a_body_without_a_told_length_is_read_to_its_end(server: FaultServer, tmp_path: Path) -> None:
    server.always.update(dict.fromkeys(CONTENTS, chunked(0)))
    got = fetch([want(name, CONTENTS[name]) for name in CONTENTS], tmp_path, [From(server.url)])
    assert {name: got.content(name) for name in CONTENTS} == CONTENTS
