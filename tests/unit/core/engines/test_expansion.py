"""Owns kubelet's expansion of `$(NAME)`, row by row."""

import pytest

from gpustack_models.core.engines.expansion import UNKNOWN, Variable, expand, known, literal

VALUES = known((Variable("A", "1"), Variable("B", "$(A)2"), Variable("C", "$(D)"), Variable("D", "4"), Variable("S")))


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "1"),
        ("x$(A)$(A)y", "x11y"),
        ("$(B)", "12"),
        ("$(C)", "$(D)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(MISSING)", "$(MISSING)"),
        ("$A", "$A"),
        ("$(A", "$(A"),
        ("$", "$"),
        ("$(S)x", UNKNOWN + "x"),
    ],
)
def test_a_text_expands_as_kubelet_would(text: str, expanded: str) -> None:
    assert expand(text, VALUES) == expanded


@pytest.mark.parametrize("text", ["plain", "$(A)", "$$", "$x", "a$$(A)", '{"a":"$(A)"}'])
def test_a_literal_survives_expansion(text: str) -> None:
    assert expand(literal(text), VALUES) == text
