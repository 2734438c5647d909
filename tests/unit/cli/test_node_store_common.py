"""Owns how `gsm node-store` reads sizes, watermarks and where its store is, row for row."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpustack_models.cli.node_store import ROWS, common
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.capacity import Watermarks


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1000", 1000),
        ("200Mi", 200 << 20),
        ("200MiB", 200 << 20),
        ("200M", 200_000_000),
        ("50MB/s", 50_000_000),
        ("1.5Gi", 3 << 29),
        ("2k", 2000),
        (" 7 Ki ", 7168),
        (None, 0),
    ],
)
def test_size(text: str | None, size: int) -> None:
    assert common.size(text, "--limit-rate") == size


@pytest.mark.parametrize("text", ["", "fast", "-1", "1 2", "Mi", "1e9", "200Xi", "0x10"])
def test_no_size(text: str) -> None:
    with pytest.raises(GsmError) as refused:
        common.size(text, "--limit-rate")
    assert (refused.value.reason, "--limit-rate" in refused.value.message) == (Reason.INVALID_INPUT, True)


@pytest.mark.parametrize(
    ("high", "low", "marks"),
    [
        pytest.param(95, 90, Watermarks(95, 90), id="a person's"),
        pytest.param(80, 70, Watermarks(80, 70), id="a node's"),
        pytest.param(50, 90, Watermarks(50, 45), id="the low one follows the high one down"),
        pytest.param(3, 90, Watermarks(3, 0), id="and not below nothing"),
    ],
)
def test_watermarks(high: int, low: int, marks: Watermarks) -> None:
    assert common.watermarks(high, low) == marks


@pytest.mark.parametrize(
    ("given", "environment", "place"),
    [
        (Path("/data"), {"XDG_CACHE_HOME": "/cache"}, Path("/data")),
        (None, {"XDG_CACHE_HOME": "/cache"}, Path("/cache/gpustack-models")),
        (None, {"XDG_CACHE_HOME": ""}, Path.home() / ".cache/gpustack-models"),
        (None, {}, Path.home() / ".cache/gpustack-models"),
    ],
)
def test_where_the_store_is(given: Path | None, environment: dict[str, str], place: Path) -> None:
    assert common.root_of(given, environment) == place


@pytest.mark.parametrize(
    "url",
    ["", "gpu-1", "file:///etc", "http://[::1", "http://a:99999", "http://u:secret@a/?token=secret", "http://a/é"],
)
def test_no_peer(url: str) -> None:
    with pytest.raises(GsmError) as refused:
        common.peers_of(["http://gpu-1:8300", url])
    assert refused.value.reason is Reason.INVALID_INPUT
    assert "secret" not in f"{refused.value.message} {refused.value.hint}"


def test_peers() -> None:
    assert common.peers_of(["http://gpu-1:8300", "https://[::1]/below"]) == ("http://gpu-1:8300", "https://[::1]/below")
    assert common.peers_of(None) == ()


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (59.4, "59 s"), (60, "1 min"), (5400, "2 h"), (3 * 86_400, "3 d")]
)
def test_spans(seconds: float, shown: str) -> None:
    assert common.lasting(seconds) == shown


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_every_command_has_its_module(row: object) -> None:
    from gpustack_models.cli import lazy

    assert isinstance(row, lazy.Row)
    assert lazy.load(row).name == row.name
