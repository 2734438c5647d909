"""Owns what tells a file's algorithm, and that nothing is ever guessed."""

from __future__ import annotations

import pytest

from gpustack_models.core.folder import (
    Folder,
    LocalFile,
    Rule,
    algorithm_of,
    choose,
    choose_like,
    choose_sha256,
    is_bookkeeping,
)
from gpustack_models.core.manifest import Algorithm, Entry, FileDigest, Manifest
from gpustack_models.errors import GsmError, Reason

SHA, GIT = Algorithm.SHA256, Algorithm.GITSHA1
LFS = "*.bin filter=lfs diff=lfs merge=lfs -text\n"


def _files(*names: str, blobs: tuple[str, ...] = ()) -> tuple[LocalFile, ...]:
    return tuple(
        LocalFile(name, 1, name, blobs[index] if index < len(blobs) else "") for index, name in enumerate(names)
    )


TELLING = {
    "cache": (
        Folder("d", _files("a.bin", "c.json", blobs=("a" * 64, "b" * 40))),
        Rule.HF_CACHE,
        {"a.bin": SHA, "c.json": GIT},
    ),
    "cache-wins-over-attributes": (
        Folder("d", _files("a.bin", blobs=("b" * 40,)), attributes=(("", LFS),)),
        Rule.HF_CACHE,
        {"a.bin": GIT},
    ),
    "record": (
        Folder("d", _files("a.bin", "c.json"), recorded={"a.bin": "a" * 64, "c.json": "b" * 40}),
        Rule.HF_RECORD,
        {"a.bin": SHA, "c.json": GIT},
    ),
    "record-and-attributes-for-the-rest": (
        Folder("d", _files("a.bin", "b.bin"), attributes=(("", LFS),), recorded={"a.bin": "b" * 40}),
        Rule.HF_RECORD,
        {"a.bin": GIT, "b.bin": SHA},
    ),
    "modelscope-mark-wins-over-attributes": (
        Folder("d", _files("a.bin", "c.json"), attributes=(("", LFS),), modelscope=True),
        Rule.MODELSCOPE,
        {"a.bin": SHA, "c.json": SHA},
    ),
    "attributes": (
        Folder("d", _files("a.bin", "sub/b.bin", "c.json"), attributes=(("", LFS),)),
        Rule.GITATTRIBUTES,
        {"a.bin": SHA, "sub/b.bin": SHA, "c.json": GIT},
    ),
    "nested-attributes": (
        Folder("d", _files("a.bin", "sub/c.json"), attributes=(("sub", "*.json filter=lfs\n"),)),
        Rule.GITATTRIBUTES,
        {"a.bin": GIT, "sub/c.json": SHA},
    ),
}


@pytest.mark.parametrize(("folder", "rule", "algorithms"), TELLING.values(), ids=TELLING.keys())
def test_what_tells(folder: Folder, rule: Rule, algorithms: dict[str, Algorithm]) -> None:
    choice = choose(folder)
    assert (choice.rule, dict(choice.algorithms)) == (rule, algorithms)


UNTOLD = {
    "nothing": (Folder("d", _files("a.bin")), "nothing tells"),
    "attributes-without-lfs": (Folder("d", _files("a.bin"), attributes=(("", "*.txt text\n"),)), "nothing tells"),
    "a-file-beside-the-cache": (Folder("d", _files("a.bin", "new.txt", blobs=("a" * 64,))), "'new.txt'"),
    "a-blob-of-another-name": (Folder("d", _files("a.bin", blobs=("a" * 39,))), "'a.bin'"),
    "a-file-without-record": (Folder("d", _files("a", "b", "c"), recorded={"a": "a" * 64}), "'b' and 1 more"),
    "both-clients-wrote-here": (
        Folder("d", _files("a"), attributes=(("", LFS),), recorded={"a": "a" * 64}, modelscope=True),
        "nothing tells",
    ),
}


@pytest.mark.parametrize(("folder", "words"), UNTOLD.values(), ids=UNTOLD.keys())
def test_nothing_is_guessed(folder: Folder, words: str) -> None:
    with pytest.raises(GsmError) as caught:
        choose(folder)
    assert caught.value.reason is Reason.INVALID_INPUT
    assert words in caught.value.message
    assert "--like" in caught.value.hint
    assert "--sha256" in caught.value.hint


def test_a_pointer_is_not_taken_for_its_content() -> None:
    folder = Folder("d", _files("a.bin"), attributes=(("", LFS),), pointers=frozenset({"a.bin"}))
    with pytest.raises(GsmError, match=r"'a\.bin' is a git LFS pointer") as caught:
        choose(folder)
    assert caught.value.hint == "git lfs pull"


def test_like_and_sha256() -> None:
    folder = Folder("d", _files("a", "b"))
    like = Manifest.of((Entry("a", 9, FileDigest(GIT, "0" * 40)), Entry("b", 9, FileDigest(SHA, "0" * 64))))
    assert choose_like(folder, like).algorithms == {"a": GIT, "b": SHA}
    assert choose_sha256(folder).algorithms == {"a": SHA, "b": SHA}
    with pytest.raises(GsmError, match="the given listing does not tell of 'c'"):
        choose_like(Folder("d", _files("a", "c")), like)


@pytest.mark.parametrize(
    ("path", "left_out"),
    [
        (".git", True),
        (".git/config", True),
        ("third_party/x/.git", True),
        (".gitattributes", False),
        (".gitignore", False),
        (".cache/huggingface/download/a.metadata", True),
        (".cache/huggingface", True),
        (".cache/other", False),
        ("sub/.cache/huggingface/x", False),
        ("._____temp/a.bin", True),
        (".msc", True),
        (".mv", True),
        (".mdl", True),
        ("sub/.msc", False),
        (".msc2", False),
    ],
)
def test_bookkeeping(path: str, left_out: bool) -> None:
    assert is_bookkeeping(path) is left_out


@pytest.mark.parametrize(
    ("tag", "algorithm"),
    [("a" * 40, GIT), ("a" * 64, SHA), ("a" * 41, None), ("A" * 40, None), ('"' + "a" * 38 + '"', None), ("", None)],
)
def test_algorithm_of_an_entity_tag(tag: str, algorithm: Algorithm | None) -> None:
    assert algorithm_of(tag) is algorithm
