"""Owns that a large file comes by several streams where that pays, and is right whatever the server does.

Refuses timings, but for the least that a budget allows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.sources import Origin
from tests.integration.store.faultserver import (
    Behaviour,
    FaultServer,
    at_rate,
    end_at,
    ignore_range,
    reset_at,
    serve,
    stall_at,
    status,
    with_etag,
)
from tests.integration.store.transferring import MIB, From, fetch, make_transfer, noise, want

#: Three pieces and a rest.
WIDE = noise(100 * MIB + 5)
WANT = want("wide", WIDE)
RATE = 60 * MIB


@pytest.fixture
def server() -> Iterator[FaultServer]:
    server = FaultServer({"wide": WIDE})
    server.always["wide"] = at_rate(RATE)
    yield server
    server.close()


def test_a_slow_stream_is_joined_by_others(server: FaultServer, tmp_path: Path) -> None:
    got = fetch([WANT], tmp_path, [From(server.url)])
    assert got.content("wide") == WIDE
    assert server.most_at_once() >= 2
    spans = sorted(one.range or (0, len(WIDE)) for one in server.requests)
    assert spans[0][0] == 0
    assert max(end for _, end in spans) == len(WIDE)
    assert got.progress["wide"] == sorted(set(got.progress["wide"]))


FAULTS: dict[str, list[Behaviour]] = {
    "resets": [reset_at(3 * MIB), reset_at(20 * MIB), serve, end_at(MIB)],
    "stalls": [at_rate(RATE), stall_at(5 * MIB), stall_at(-1)],
    "refusals that pass": [at_rate(RATE), status("503 Service Unavailable"), status("429 Too Many Requests")],
    "ignored ranges": [ignore_range, ignore_range, ignore_range],
    "an ignored range half way": [at_rate(RATE), at_rate(RATE), ignore_range, reset_at(10 * MIB)],
    "another ETag once": [at_rate(RATE), at_rate(RATE), with_etag('"v2"')],
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_streams_that_fail_beside_each_other(server: FaultServer, tmp_path: Path, faults: list[Behaviour]) -> None:
    server.then("wide", *faults)
    got = fetch([WANT], tmp_path, [From(server.url)], transfer=make_transfer(stall=1))
    assert got.content("wide") == WIDE
    assert got.report is not None
    assert got.report.failures == ()


def test_a_server_that_never_takes_ranges(server: FaultServer, tmp_path: Path) -> None:
    server.always["wide"] = ignore_range
    got = fetch([WANT], tmp_path, [From(server.url)])
    assert got.content("wide") == WIDE


def test_a_peer_that_dies_under_several_streams(server: FaultServer, tmp_path: Path) -> None:
    peer = FaultServer({"wide": WIDE})
    peer.then("wide", *[end_at(6 * MIB)] * 3)
    peer.always["wide"] = status("500 Internal Server Error")
    got = fetch([WANT], tmp_path, [From(peer.url, Origin.PEER), From(server.url)])
    peer.close()
    assert got.content("wide") == WIDE
    assert got.report is not None
    assert got.report.received[Origin.PEER] >= 6 * MIB
    assert got.report.received[Origin.PEER] + got.report.received[Origin.HUB] == len(WIDE)


def test_one_flipped_bit_among_many_ranges(server: FaultServer, tmp_path: Path) -> None:
    wrong = bytearray(WIDE)
    wrong[70 * MIB] ^= 1
    server.files["wide"] = bytes(wrong)
    with pytest.raises(GsmError, match="the manifest says") as caught:
        fetch([WANT], tmp_path, [From(server.url)])
    assert caught.value.reason is Reason.INTEGRITY_MISMATCH
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_wide_file_is_resumed_from_what_is_in_order(server: FaultServer, tmp_path: Path) -> None:
    server.then("wide", end_at(30 * MIB), end_at(30 * MIB))
    server.always["wide"] = status("403 Forbidden")
    with pytest.raises(GsmError, match="answered 403"):
        fetch([WANT], tmp_path, [From(server.url)])
    server.always["wide"] = serve
    got = fetch([WANT], tmp_path, [From(server.url)])
    assert got.content("wide") == WIDE
    assert got.report is not None
    assert 0 < got.report.kept <= 60 * MIB


def test_the_budget_of_bytes_is_kept_over_all_streams(tmp_path: Path) -> None:
    files = {f"{number}": noise(600_000, number) for number in range(5)}
    server = FaultServer(files)
    began = time.monotonic()
    got = fetch(
        [want(path, content) for path, content in files.items()],
        tmp_path,
        [From(server.url)],
        transfer=make_transfer(rate=2_000_000),
    )
    took = time.monotonic() - began
    server.close()
    assert len(got.files) == 5
    assert took > 3_000_000 / 2_000_000 - 0.5, "more bytes came than the budget gives"
