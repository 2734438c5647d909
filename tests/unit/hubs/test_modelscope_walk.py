"""Owns the walk around ModelScope's silent truncation, over trees of any shape. Refuses sockets: values answer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack_models.core.manifest import MAX_ENTRIES
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.modelscope_walk import MAX_REQUESTS, TRUNCATED_AT, RepoFile, walk

NAME = "ms://org/repo@" + "0" * 40
DIGEST = "81" * 32


class Tree:
    """A repository that answers listings as the hub does, and keeps what it was asked."""

    def __init__(self, paths: Sequence[str], limit: int = TRUNCATED_AT) -> None:
        folders = {"/".join(path.split("/")[:end]) for path in paths for end in range(1, path.count("/") + 1)}
        self.entries = [RepoFile("blob", path, 1, DIGEST) for path in paths]
        self.entries += [RepoFile("tree", folder) for folder in folders]
        self.entries.sort(key=lambda entry: entry.path)
        self.limit = limit
        self.asked: list[tuple[str, bool]] = []

    def fetch(self, folder: str, recursive: bool) -> list[RepoFile]:
        self.asked.append((folder, recursive))
        below = f"{folder}/" if folder else ""
        inside = [each for each in self.entries if each.path.startswith(below)]
        if not recursive:
            inside = [each for each in inside if "/" not in each.path[len(below) :]]
        return inside[: self.limit]


def paths(count: int, folder: str) -> list[str]:
    return [f"{folder}/{number:05}" for number in range(count)]


def test_a_small_repository_is_one_request() -> None:
    tree = Tree(["a", "b/c"])
    assert [entry.path for entry in walk(tree.fetch, NAME)] == ["a", "b/c"]
    assert tree.asked == [("", True)]


def test_only_the_subtrees_that_are_cut_off_are_broken_up() -> None:
    big = [*paths(2000, "big/x"), *paths(2500, "big/y")]
    tree = Tree(["README.md", *paths(5, "small"), *big])
    assert {entry.path for entry in walk(tree.fetch, NAME)} == {"README.md", *paths(5, "small"), *big}
    assert tree.asked == [
        ("", True),
        ("", False),
        ("big", True),
        ("big", False),
        ("big/x", True),
        ("big/y", True),
        ("small", True),
    ]


@pytest.mark.parametrize("count", [TRUNCATED_AT - 1, TRUNCATED_AT, TRUNCATED_AT + 1])
def test_a_directory_of_3000_children_cannot_be_listed(count: int) -> None:
    tree = Tree([f"{number:05}" for number in range(count)])
    if count < TRUNCATED_AT:
        assert len(walk(tree.fetch, NAME)) == count
        return
    with pytest.raises(GsmError, match="'/' has 3000") as caught:
        walk(tree.fetch, NAME)
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join), min_size=1, max_size=30, unique=True
    )
)
def test_the_walk_lists_every_file_once_or_refuses(names: list[str]) -> None:
    files = [path for path in names if not any(other.startswith(path + "/") for other in names)]
    tree = Tree(files, limit=6)
    try:
        listed = sorted(entry.path for entry in walk(tree.fetch, NAME, truncated_at=6))
    except GsmError as error:
        refused = error
    else:
        assert listed == sorted(files)
        return
    assert refused.reason is Reason.SOURCE_UNAVAILABLE


def test_the_walk_ends_after_5000_requests() -> None:
    asked = 0

    def fetch(folder: str, recursive: bool) -> list[RepoFile]:
        nonlocal asked
        asked += 1
        if recursive:
            return [RepoFile("tree", f"{folder}/0".lstrip("/"))] * TRUNCATED_AT
        return [RepoFile("tree", f"{folder}/{number}".lstrip("/")) for number in range(2)]

    with pytest.raises(GsmError, match="5000 requests") as caught:
        walk(fetch, NAME)
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE
    assert asked == MAX_REQUESTS


def test_a_walk_takes_no_more_files_than_a_manifest() -> None:
    def fetch(folder: str, recursive: bool) -> list[RepoFile]:
        if not folder and recursive:
            return [RepoFile("tree", str(number)) for number in range(TRUNCATED_AT)]
        if not folder:
            return [RepoFile("tree", str(number)) for number in range(50)]
        return [RepoFile("blob", f"{folder}/{number}", 1, DIGEST) for number in range(TRUNCATED_AT - 1)]

    with pytest.raises(GsmError, match=str(MAX_ENTRIES)) as caught:
        walk(fetch, NAME)
    assert caught.value.reason is Reason.MANIFEST_TOO_LARGE


HOSTILE = {
    "its own parent": ("", RepoFile("tree", "")),
    "itself": ("a", RepoFile("tree", "a")),
    "another directory": ("a", RepoFile("blob", "b/c", 1, DIGEST)),
    "one that only begins alike": ("a", RepoFile("blob", "ab", 1, DIGEST)),
    "a grandchild as a child": ("a", RepoFile("tree", "a/b/c")),
}


@pytest.mark.parametrize(("where", "entry"), HOSTILE.values(), ids=HOSTILE.keys())
def test_an_answer_about_another_directory_is_refused(where: str, entry: RepoFile) -> None:
    def fetch(folder: str, recursive: bool) -> list[RepoFile]:
        if recursive:
            return [RepoFile("tree", f"{folder}/0".lstrip("/"))] * TRUNCATED_AT
        return [entry] if folder == where else [RepoFile("tree", "a")]

    with pytest.raises(GsmError) as caught:
        walk(fetch, NAME)
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


REFUSED = {
    "no SHA-256": RepoFile("blob", "a", 1, ""),
    "a null SHA-256": RepoFile("blob", "a", 1, None),
    "an unknown type": RepoFile("commit", "a", 1, DIGEST),
    "a link": RepoFile("link", "a", 1, DIGEST),
}


@pytest.mark.parametrize("entry", REFUSED.values(), ids=REFUSED.keys())
def test_a_listing_that_hides_anything_is_refused(entry: RepoFile) -> None:
    with pytest.raises(GsmError) as caught:
        walk(lambda _folder, _recursive: [RepoFile("blob", "good", 1, DIGEST), entry], NAME)
    assert caught.value.reason is Reason.INVALID_MANIFEST


def test_progress_grows_with_the_files_listed() -> None:
    tree = Tree([*paths(2000, "x"), *paths(1500, "y")])
    seen: list[int] = []
    walk(tree.fetch, NAME, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 3500
