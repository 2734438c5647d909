"""Owns what a JSON text of the store may hold, row for row."""

from __future__ import annotations

import pytest

from gpustack_models.store import plainjson
from gpustack_models.store.clock import Instant


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "1" + "0" * 400,
        "1" + "0" * 5000,
        "[" * 60_000,
        '{"a":' * 60_000,
        "",
        "{",
    ],
    ids=["NaN", "Infinity", "-Infinity", "1e999", "10^400", "10^5000", "lists", "objects", "nothing", "half"],
)
def test_what_is_no_value(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        plainjson.parse(text)


def test_what_is_one() -> None:
    assert plainjson.parse(b'{"a": [1, -2.5, "x", true, null, 9223372036854775807]}') == {
        "a": [1, -2.5, "x", True, None, 9223372036854775807]
    }


@pytest.mark.parametrize("value", [-1, 253_402_300_800, True, "1", None, float("nan")], ids=str)
def test_what_is_no_moment(value: object) -> None:
    with pytest.raises(ValueError, match="is not a moment"):
        plainjson.moment(value)


def test_moments() -> None:
    assert plainjson.moment(0) == 0.0
    assert plainjson.instant({"wall": 5, "boot": "b", "uptime": 1.5}) == Instant(5.0, "b", 1.5)
    with pytest.raises(ValueError, match="with its boot"):
        plainjson.instant({"wall": 5, "boot": "b", "uptime": 1.5, "more": 1})
