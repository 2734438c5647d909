"""Plain scalars as kubectl reads them (tried on kubectl 1.32; tests/cluster asks the real one)."""

import pytest

from gpustack_models.core import scalars
from tests.scalars import PLAIN


@pytest.mark.parametrize(("text", "expected"), PLAIN.items(), ids=PLAIN)
def test_a_plain_scalar(text: str, expected: scalars.Scalar) -> None:
    found = scalars.resolve(text, plain=True, tag=None)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize("text", PLAIN)
def test_a_quoted_scalar_is_a_text(text: str) -> None:
    assert scalars.resolve(text, plain=False, tag=None) == text


@pytest.mark.parametrize(
    ("text", "tag", "expected"),
    [
        ("5", "str", "5"),
        ("5", "int", 5),
        ("5", "float", 5),
        ("yes", "bool", True),
        ("~", "null", None),
        ("5", "!", "5"),
    ],
)
def test_a_tag_is_kept_to(text: str, tag: str, expected: scalars.Scalar) -> None:
    full = tag if tag == "!" else f"tag:yaml.org,2002:{tag}"
    assert scalars.resolve(text, plain=False, tag=full) == expected


@pytest.mark.parametrize(
    ("text", "tag"), [("x", "int"), ("1", "bool"), ("true", "int"), ("x", "binary"), ("x", "null")]
)
def test_a_tag_that_does_not_fit_is_refused(text: str, tag: str) -> None:
    with pytest.raises(ValueError, match=tag):
        scalars.resolve(text, plain=True, tag=f"tag:yaml.org,2002:{tag}")
