"""Owns the promise of editing YAML in place: the value is set, and no other byte moves."""

from __future__ import annotations

import json
from itertools import takewhile

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpustack_models.core.yamledit import Set, documents, edited
from gpustack_models.errors import GsmError, Reason

COMMIT = "7ae557604adf67be50417f59c2c2f167def9a775"
DIGITS = "1" * 40

EDITS = {
    "a-plain-value": ("a: main # why\nb: 1\n", ("a",), COMMIT, f"a: {COMMIT} # why\nb: 1\n"),
    "a-double-quoted-value": ('a: "main"\n', ("a",), COMMIT, f'a: "{COMMIT}"\n'),
    "a-single-quoted-value": ("a: 'main'\n", ("a",), COMMIT, f"a: '{COMMIT}'\n"),
    "a-block-scalar": ("a: >-\n  main\nb: 1\n", ("a",), COMMIT, f"a: {COMMIT}\nb: 1\n"),
    "an-empty-value": ("a:\nb: 1\n", ("a",), COMMIT, f"a: {COMMIT}\nb: 1\n"),
    "an-empty-value-with-a-comment": ("a: # main\nb: 1\n", ("a",), COMMIT, f"a: {COMMIT} # main\nb: 1\n"),
    "digits-are-quoted": ("a: main\n", ("a",), DIGITS, f'a: "{DIGITS}"\n'),
    "digits-with-an-exponent-are-quoted": ("a: x\n", ("a",), "12e34", 'a: "12e34"\n'),
    "a-new-member": ("a: 1 # one\n\n# end\n", ("z",), COMMIT, f"a: 1 # one\nz: {COMMIT}\n\n# end\n"),
    "a-new-member-without-a-last-line-feed": ("a: 1", ("z",), COMMIT, f"a: 1\nz: {COMMIT}"),
    "a-new-member-below-nested-ones": (
        "s:\n  a:\n    - x\n    - y # last\n  # after\nt: 1\n",
        ("s", "z"),
        COMMIT,
        f"s:\n  a:\n    - x\n    - y # last\n  z: {COMMIT}\n  # after\nt: 1\n",
    ),
    "a-new-member-below-a-block-scalar": ("a: |\n  text\n  more\n", ("z",), "x", "a: |\n  text\n  more\nz: x\n"),
    "a-new-member-of-an-item": ("- a: 1\n  b: 2\n- c: 3\n", (0, "z"), "x", "- a: 1\n  b: 2\n  z: x\n- c: 3\n"),
    "windows-line-ends": ("a: 1\r\nb: 2\r\n", ("z",), "x", "a: 1\r\nb: 2\r\nz: x\r\n"),
    "flow": ('{"a": {"b": "main"}}\n', ("a", "b"), COMMIT, f'{{"a": {{"b": "{COMMIT}"}}}}\n'),
    "a-new-member-in-flow": ("{a: 1}\n", ("z",), "x", '{a: 1, "z": "x"}\n'),
    "a-new-member-in-indented-json": (
        '{\n  "a": {\n    "b": 1\n  }\n}\n',
        ("a", "z"),
        "x",
        '{\n  "a": {\n    "b": 1,\n    "z": "x"\n  }\n}\n',
    ),
    "beyond-the-first-plane": ("# 😀 é\na: main\n", ("a",), "x", "# 😀 é\na: x\n"),
}


@pytest.mark.parametrize(("text", "path", "value", "after"), EDITS.values(), ids=EDITS.keys())
def test_an_edit(text: str, path: tuple[str | int, ...], value: str, after: str) -> None:
    (document,) = documents(text, "f")
    assert edited(text, [Set(document.mark.position.line, path, value)], "f") == after


def test_a_new_member_stands_below_the_sibling_asked_for() -> None:
    assert edited("a: 1\nb: 2\n", [Set(1, ("z",), "x", after="a")], "f") == "a: 1\nz: x\nb: 2\n"


def test_several_edits_of_several_documents() -> None:
    text = "a: 1\n---\n# nothing\n---\na: 1\nb: 2\n"
    edits = [Set(5, ("b",), "x"), Set(1, ("z",), "p"), Set(5, ("z",), "q")]
    assert edited(text, edits, "f") == "a: 1\nz: p\n---\n# nothing\n---\na: 1\nb: x\nz: q\n"


REFUSED = {
    "an-alias": ("x: &here main\na: *here\n", ("a",)),
    "behind-an-alias": ("x: &here {b: 1}\na: *here\n", ("a", "b")),
    "behind-a-merge": ("a:\n  <<: {b: {c: 1}}\n", ("a", "b", "c")),
    "deep-behind-a-merge": ("a:\n  <<: {b: {c: {d: 1}}}\n", ("a", "b", "c", "d")),
    "no-place": ("a: {}\n", ("a", "z")),
    "not-a-map": ("a: 1\n", ("a", "z")),
}


@pytest.mark.parametrize(("text", "path"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_written_in_place_is_refused(text: str, path: tuple[str, ...]) -> None:
    with pytest.raises(GsmError) as caught:
        edited(text, [Set(1, path, "x")], "f.yaml")
    assert caught.value.reason is Reason.INVALID_INPUT
    assert "f.yaml" in caught.value.message


#: Without y, which YAML reads as true, in a key too.
_KEYS = st.text("abcxz", min_size=1, max_size=3)
_TREES = st.recursive(
    st.text("abc '\"#:-\n", max_size=8),
    lambda inner: st.dictionaries(_KEYS, inner, min_size=1, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(_KEYS, _TREES, min_size=1, max_size=4), _KEYS, st.sampled_from([COMMIT, DIGITS, "sha256:ab"]))
def test_whatever_the_document_only_the_asked_for_changes(tree: dict[str, object], key: str, value: str) -> None:
    old = tree.get(key, "")
    assume(isinstance(old, str))
    for text in (json.dumps(tree), json.dumps(tree, indent=2), _block(tree)):
        after = edited(text, [Set(1, (key,), value)], "f")
        assert [document.value for document in documents(after, "f")] == [{**tree, key: value}]
        before = _alike(text, after)
        behind = _alike(text[before:][::-1], after[before:][::-1])
        assert before + behind >= len(text) - len(json.dumps(old))


def _alike(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _block(tree: dict[str, object], indent: str = "") -> str:
    lines = []
    for key, value in tree.items():
        if isinstance(value, dict):
            lines.append(f"{indent}{key}: # {key}\n{_block(value, indent + '  ')}")
        else:
            lines.append(f"{indent}{key}: {json.dumps(value)}  # {key}\n")
    return "".join(lines)
