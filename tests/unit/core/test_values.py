"""Settings' texts as values."""

import pytest

from gpustack_models.core import values
from gpustack_models.errors import GsmError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("24h", 86400),
        ("90m", 5400),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("60000ms", 60),
        ("1s500ms", 1.5),
        ("1000000us", 1),
    ],
)
def test_a_duration_in_seconds(text: str, seconds: float) -> None:
    assert values.seconds(text) == seconds


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("200Mi", 200 << 20),
        ("1.5Gi", 3 << 29),
        ("1k", 1000),
        ("2M", 2_000_000),
        ("0.3k", 300),
        ("0.0001k", 1),
    ],
)
def test_a_bandwidth_in_bytes(text: str, number: int) -> None:
    assert values.bytes_per_second(text) == number


def test_a_switch() -> None:
    assert (values.switch("true"), values.switch("false")) == (True, False)


@pytest.mark.parametrize("parse", [values.seconds, values.bytes_per_second, values.switch])
def test_another_text_is_refused(parse: object) -> None:
    assert callable(parse)
    with pytest.raises(GsmError, match="'x' is not"):
        parse("x")
