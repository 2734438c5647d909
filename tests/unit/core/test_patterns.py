"""Owns the file patterns, against an oracle that asks fnmatch one pattern at a time. Refuses manifests."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpustack_models.core.patterns import MAX_PATTERN_LENGTH, Patterns
from gpustack_models.errors import GsmError, Reason

from .strategies import hostile_paths, paths

patterns = st.one_of(
    st.text(st.sampled_from("ab*?[]!-/.\\^&~|#(){}+$"), min_size=1, max_size=8),
    st.sampled_from(["*", "**/", "/", "a/", "*.json", "[a-b]*", "[!a]", "[]]", "[", "[a", "[b-a]", "[[]", "[a--b]"]),
    paths.filter(lambda path: len(path) <= MAX_PATTERN_LENGTH),
)
lists = st.lists(patterns, max_size=4)


def oracle(path: str, allow: list[str], ignore: list[str]) -> bool:
    def matches(pattern: str) -> bool:
        return fnmatchcase(path, pattern + "*" if pattern.endswith("/") else pattern)

    return (not allow or any(map(matches, allow))) and not any(map(matches, ignore))


@given(
    st.lists(st.one_of(paths, hostile_paths, st.text(st.sampled_from("ab/.[]-*"), max_size=6)), max_size=6),
    lists,
    lists,
)
@example(["a[b", "a&&b"], ["[a[b]", "[a&&b]*"], ["[a||b]", "[a~~b]"])
def test_the_lists_keep_what_fnmatch_says(listed: list[str], allow: list[str], ignore: list[str]) -> None:
    kept = Patterns(tuple(allow), tuple(ignore)).keep(listed)
    assert kept == [path for path in listed if oracle(path, allow, ignore)]


CASES = {
    "an empty list keeps every file": ((), (), ["a", "b/c"], ["a", "b/c"]),
    "case-sensitive": (("*.JSON",), (), ["a.json", "a.JSON"], ["a.JSON"]),
    "a star crosses folders": (("*.json",), (), ["a.json", "b/c.json"], ["a.json", "b/c.json"]),
    "a question mark crosses folders": (("a?b",), (), ["a/b", "acb", "ab"], ["a/b", "acb"]),
    "a trailing slash is everything under it": (
        ("original/",),
        (),
        ["original", "original/a/b", "x/original/a"],
        ["original/a/b"],
    ),
    "an ignored file is dropped even when allowed": (("*",), ("*.bin",), ["a", "a.bin"], ["a"]),
    "a name without a star is that file only": (
        ("config.json",),
        (),
        ["config.json", "a/config.json"],
        ["config.json"],
    ),
    "a leading dot is nothing special": (("*",), (), [".gitattributes"], [".gitattributes"]),
    "a line feed is nothing special": (("a*b",), (), ["a\nb"], ["a\nb"]),
    "a set": (("model-0000[12]-*",), (), ["model-00001-x", "model-00003-x"], ["model-00001-x"]),
}


@pytest.mark.parametrize(("allow", "ignore", "listed", "kept"), CASES.values(), ids=CASES.keys())
def test_patterns(allow: tuple[str, ...], ignore: tuple[str, ...], listed: list[str], kept: list[str]) -> None:
    assert Patterns(allow, ignore).keep(listed) == kept


LIMITS = {
    "32 are taken": (("x",) * 32, True),
    "33 are not": (("x",) * 33, False),
    "256 characters are taken": (("é" * 256,), True),
    "257 are not": (("é" * 257,), False),
    "an empty pattern is not": (("x", ""), False),
}


@pytest.mark.parametrize("field", ["allow", "ignore"])
@pytest.mark.parametrize(("listed", "taken"), LIMITS.values(), ids=LIMITS.keys())
def test_limits(field: str, listed: tuple[str, ...], taken: bool) -> None:
    if taken:
        Patterns(**{field: listed})
        return
    with pytest.raises(GsmError, match=f"{field}Patterns") as caught:
        Patterns(**{field: listed})
    assert caught.value.reason is Reason.INVALID_INPUT


def test_only_lists_with_a_pattern_filter() -> None:
    assert not Patterns()
    assert Patterns(allow=("*",))
    assert Patterns(ignore=("*",))


def test_a_pattern_made_to_run_for_ever_does_not() -> None:
    hostile = Patterns(allow=("a*" * 127 + "b",) * 32)
    assert hostile.keep(["a" * 4096] * 4) == []
