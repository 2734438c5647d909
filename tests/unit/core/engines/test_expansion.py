"""Owns kubelet's expansion of `$(NAME)`, row by row."""

import pytest

from gpustack_models.core.engines.expansion import MAX_ARGUMENT, UNKNOWN, Variable, expand, known, literal

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
        ("$(A)$$(A", "1$(A"),
    ],
)
def test_a_text_expands_as_kubelet_would(text: str, expanded: str) -> None:
    assert expand(text, VALUES) == expanded


@pytest.mark.parametrize("text", ["plain", "$(A)", "$$", "$x", "a$$(A)", '{"a":"$(A)"}'])
def test_a_literal_survives_expansion(text: str) -> None:
    assert expand(literal(text), VALUES) == text


def test_variables_that_double_each_other_end_where_an_argument_does() -> None:
    doubling = [Variable("V0", "x" * 1000), *(Variable(f"V{n}", f"$(V{n - 1})" * 2) for n in range(1, 200))]
    values = known(doubling)
    assert values["V6"] == "x" * 64_000
    assert values["V8"] == UNKNOWN
    assert max(map(len, values.values())) <= 2 * MAX_ARGUMENT


def test_what_never_closes_is_looked_through_once() -> None:
    assert expand("$(A)" + "$(" * 200_000, VALUES) == "1" + "$(" * 200_000
