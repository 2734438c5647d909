"""Owns that whatever is printed as YAML is read back the same, by the reader that reads as kubectl does."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.cli.yamltext import dump
from gpustack_models.core.documents import read

_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12) | st.from_regex(
    r"[-+]?[0-9a-fxo_.:]{1,8}|[yYnN]|on|Off|null|~|2026-11-30", fullmatch=True
)
_VALUES = st.recursive(
    _TEXTS | st.integers(-(1 << 40), 1 << 40) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(_TEXTS, _VALUES, min_size=1))
def test_what_is_printed_is_read_back(value: dict[str, object]) -> None:
    text = dump(value)
    (document,) = read(text.encode(), "x")
    assert document.value == value
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "text", ["\x1b[2J", "a\x9b31m", "\u202eb\nc", "\u2028", "\ufeff", "\U000e0001", "it's \u202e"], ids=ascii
)
def test_nothing_of_it_is_a_terminal_s_command(text: str) -> None:
    printed = dump({text: [text]})
    assert printed.replace("\n", "").isprintable()
    assert yaml.safe_load(printed) == {text: [text]}


@pytest.mark.parametrize(
    "text", ["yes", "n", "1e3", "12e34", "0o17", "0x1f", "1:30", "1_000", "null", "", "- a", "# b"]
)
def test_a_text_stays_a_text(text: str) -> None:
    (document,) = read(dump({"a": [text]}).encode(), "x")
    assert document.value == {"a": [text]}


def test_a_value_used_twice_is_written_twice() -> None:
    shared = ["x"]
    assert dump({"a": shared, "b": shared}) == "a:\n- x\nb:\n- x\n"
