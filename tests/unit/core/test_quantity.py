"""Owns what a quantity of bytes means."""

import pytest

from gpustack_models.core.quantity import whole
from gpustack_models.errors import GsmError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        (1000, 1000),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1.5Gi", 1610612736),
        ("100m", 1),
        ("1e3", 1000),
        ("1E3", 1000),
        ("2E", 2 * 10**18),
        ("1Ei", 1 << 60),
        ("9Ei", (1 << 63) - 1),
        (".5Ki", 512),
        ("0.0001Ki", 1),
        ("1e999999999", (1 << 63) - 1),
        ("-1e999999", -(1 << 63) + 1),
        ("0e999999999", 0),
        ("1e-999999999", 1),
        ("-1e-999999999", 0),
    ],
)
def test_a_quantity_is_a_whole_number_rounded_up(text: str | int, value: int) -> None:
    assert whole(text) == value


def test_a_quantity_of_thousands_of_digits_is_the_largest() -> None:
    assert whole("9" * 5000) == (1 << 63) - 1


@pytest.mark.parametrize("text", ["", "x", "1 Gi", "1GiB", "--1", "1e", "Gi"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(GsmError):
        whole(text)
