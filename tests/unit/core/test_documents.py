"""YAML as kubectl reads it, with places; and nothing but a refusal comes of what would hurt."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.documents import read
from gpustack_models.core.paths import Path
from gpustack_models.core.rules import table
from gpustack_models.core.yamlbuilder import MAX_DEPTH, DocumentError, Position
from tests.scalars import KEYS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc-./<", max_size=4), inner, max_size=4),
    max_leaves=20,
)


def values(text: str | bytes) -> list[Any]:
    return [document.value for document in read(text.encode() if isinstance(text, str) else text, "a.yaml")]


@given(JSON.filter(lambda value: value is not None and "<<" not in str(value)))
def test_json_is_read_as_it_is(value: Any) -> None:
    assert values(json.dumps(value, ensure_ascii=False)) == [value]


@given(st.binary(max_size=200) | st.text("-:[]{}&*!|>'\"#%@`, \n\tab0", max_size=60).map(str.encode))
def test_whatever_the_bytes_nothing_but_a_refusal_comes_of_them(data: bytes) -> None:
    error = refusal(data)
    assert error is None or (error.message and error.rule in table.BY_ID and error.position.line >= 1)


def refusal(data: bytes) -> DocumentError | None:
    try:
        values(data)
    except DocumentError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n---\nb: 2\n...\n", [{"a": 1}, {"b": 2}]),
        ("kind: List\nitems: [{a: 1}, {b: 2}]", [{"a": 1}, {"b": 2}]),
        ("a: &x {b: 1}\nc: {<<: *x, d: 2}", [{"a": {"b": 1}, "c": {"d": 2, "b": 1}}]),
        ("a: &x {b: 1}\nc: {<<: *x, b: 2}", [{"a": {"b": 1}, "c": {"b": 2}}]),
        ("a: &x {b: 1}\nd: &y {c: 2}\ne: {<<: [*x, *y]}", [{"a": {"b": 1}, "d": {"c": 2}, "e": {"b": 1, "c": 2}}]),
        ("<<: plain", [{"<<": "plain"}]),
        ("1: a\ntrue: b", [{"1": "a", "true": "b"}]),
        (
            "kind: AList\napiVersion: v1\nitems: [{a: 1}, {kind: B}]",
            [{"apiVersion": "v1", "kind": "A", "a": 1}, {"kind": "B"}],
        ),
        ("kind: List\nitems: [{kind: List, items: [1]}]", [{"kind": "List", "items": [1]}]),
        ('{"a": "\\ud83d\\ude00 \\\\ud83d\\\\ude00"}', [{"a": "\U0001f600 \\ud83d\\ude00"}]),
        ("a: |\n  x\n  y\n", [{"a": "x\ny\n"}]),
        ('{\n\t"a": 1\n}', [{"a": 1}]),
    ],
    ids=[
        "documents",
        "list",
        "merge",
        "merge-keeps",
        "merge-list",
        "no-merge",
        "keys",
        "typed-list",
        "list-in-list",
        "json-pair",
        "block",
        "json-tabs",
    ],
)
def test_documents(text: str, expected: list[Any]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "rule", "line", "column"),
    [
        (b"a: [1, 2\nb: 3", "document-yaml", 2, 2),
        (b"a: 1\n\tb: 2", "document-yaml", 2, 1),
        (b"a: b: c", "document-yaml", 1, 5),
        (b"a: 'x", "document-yaml", 1, 6),
        (b"a: .inf", "document-yaml", 1, 4),
        (b"a: !!python/object:os.system x", "document-yaml", 1, 4),
        (b"a: !thing {}", "document-yaml", 1, 4),
        (b"? [a]\n: 1", "document-yaml", 1, 3),
        (b"a: *b", "document-yaml", 1, 4),
        (b"a: &a [*a]", "document-alias", 1, 8),
        (b"a: &k x\n*k : 1", "document-alias", 2, 1),
        (b"a: 1\nb: 2\na: 3", "document-duplicate-key", 3, 1),
        (b"8: 1\n010: 2", "document-duplicate-key", 2, 1),
        (b"a: 1\n~: 2", "document-yaml", 2, 1),
        (b"a: b\x00c", "document-encoding", 1, 5),
        (b"a: 1\nb: \xff", "document-encoding", 2, 4),
        ("a: é\x01".encode(), "document-encoding", 1, 5),
        ("a: b".encode("utf-16"), "document-encoding", 1, 1),
        (b"[" * (MAX_DEPTH + 1), "document-too-deep", 1, MAX_DEPTH + 1),
        (b"[" * 5000, "document-too-deep", 1, 1001),
        (b"- " * 5000, "document-too-deep", 1, 2 * MAX_DEPTH + 1),
    ],
    ids=lambda value: repr(value)[:30] if isinstance(value, bytes) else None,
)
def test_a_refusal_names_its_place(text: bytes, rule: str, line: int, column: int) -> None:
    with pytest.raises(DocumentError) as caught:
        values(text)
    assert (caught.value.rule, caught.value.position) == (rule, Position(line, column))


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    with pytest.raises(DocumentError) as caught:
        values("\n".join(lines))
    assert caught.value.rule == "document-too-large"


def test_aliases_do_not_nest_deeper_than_text_may() -> None:
    nested = [f"a{n}: &a{n} {'[' * 40}{f'*a{n - 1}' if n else '1'}{']' * 40}" for n in range(30)]
    with pytest.raises(DocumentError) as caught:
        values("\n".join(nested))
    assert (caught.value.rule, caught.value.position.line) == ("document-too-deep", 2)


@pytest.mark.parametrize(("written", "text"), KEYS.items(), ids=KEYS)
def test_a_key_is_the_text_that_kubectl_makes_of_it(written: str, text: str) -> None:
    assert values(f"{written}: x") == [{text: "x"}]


def test_what_stands_before_an_error_is_given() -> None:
    documents = read(b"a: 1\n---\nb: [", "a.yaml")
    assert next(documents).value == {"a": 1}
    with pytest.raises(DocumentError):
        next(documents)


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("spec", "roles", 1, "name"), 5, 7),
        (("spec", "roles", 1), 5, 7),
        (("spec", "roles"), 3, 3),
        (("spec", "roles", 1, "missing"), 5, 7),
        (("spec", "missing", "deeper"), 2, 1),
        (("missing",), 1, 1),
        ((), 1, 1),
    ],
    ids=str,
)
def test_a_field_is_found_in_the_text(path: Path, line: int, column: int) -> None:
    document = next(read(b"kind: A\nspec:\n  roles:\n    - name: a\n    - name: b\n", "a.yaml"))
    assert document.position(path) == Position(line, column)


def test_an_item_of_a_list_is_found_in_the_text() -> None:
    second = list(read(b"kind: List\nitems:\n- kind: A\n- kind: B\n  spec: {a: 1}\n", "a.yaml"))[1]
    assert second.position(("spec", "a")) == Position(5, 10)
