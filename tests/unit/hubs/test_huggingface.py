"""Owns the rows of Hugging Face's answer table, and its answers as values. Refuses sockets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.manifest import Algorithm, Entry, FileDigest, Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.answers import row_of
from gpustack_models.hubs.http import HttpClient
from gpustack_models.hubs.huggingface import ANSWERS, MASK, HuggingFace, commit_of, entries_of
from gpustack_models.hubs.tokens import Token

VECTOR = Path(__file__).parents[2] / "vectors" / "hf-qwen2.5-0.5b-instruct.tree.json"
COMMIT = "7ae557604adf67be50417f59c2c2f167def9a775"
NAME = "hf://org/repo@main"

#: By row: the answers that are its own, as HTTP status and X-Error-Code.
ROWS: dict[str, tuple[list[tuple[int, str | None]], Reason]] = {
    "revision-not-found": ([(404, "RevisionNotFound")], Reason.REVISION_NOT_FOUND),
    "gated": ([(403, "GatedRepo"), (401, "GatedRepo")], Reason.ACCESS_DENIED),
    "unauthorized": ([(401, None), (401, "RepoNotFound"), (401, "RevisionNotFound")], Reason.ACCESS_DENIED),
    "forbidden": ([(403, None), (403, "Anything")], Reason.ACCESS_DENIED),
    "not-found": ([(404, None), (404, "RepoNotFound"), (404, "EntryNotFound")], Reason.ACCESS_DENIED),
    "rate-limited": ([(429, None)], Reason.SOURCE_UNAVAILABLE),
    "server-error": ([(500, None), (502, None), (503, "X"), (599, None)], Reason.SOURCE_UNAVAILABLE),
    "unexpected": (
        [(204, None), (302, None), (400, None), (410, None), (451, None), (421, None)],
        Reason.SOURCE_UNAVAILABLE,
    ),
}


@pytest.mark.parametrize("row", ANSWERS, ids=[row.id for row in ANSWERS])
def test_every_row_of_the_table(row: Any) -> None:
    answers, reason = ROWS[row.id]
    for status, code in answers:
        found = row_of(ANSWERS, status, code)
        assert (found.id, found.reason) == (row.id, reason)


@given(st.integers(100, 999), st.none() | st.text(max_size=20))
def test_every_answer_has_a_row(status: int, code: str | None) -> None:
    assert row_of(ANSWERS, status, code) in ANSWERS


def test_a_real_tree_is_read() -> None:
    entries, count = entries_of(VECTOR.read_bytes(), NAME)
    assert count == len(entries) == 10
    assert Manifest.of(entries).digest == "sha256:669ed7b128b6ad1658d735326bd172a33497ecdb8bbd72dd0b23c98b58469448"


def file(path: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "file", "oid": "4f" * 20, "size": 3, "path": path, **more}


LFS = {"oid": "81" * 32, "size": 3, "pointerSize": 130}


def page(*entries: object) -> bytes:
    return json.dumps(entries).encode()


def test_an_lfs_file_has_its_sha256_and_any_other_its_blob() -> None:
    folder = {"type": "directory", "oid": "4f" * 20, "size": 0, "path": "d"}
    entries, count = entries_of(
        page(file("a"), folder, file("d/b", lfs=LFS, xetHash="0" * 64), file("c", lfs=None)), NAME
    )
    assert count == 4
    assert entries == [
        Entry("a", 3, FileDigest(Algorithm.GITSHA1, "4f" * 20)),
        Entry("d/b", 3, FileDigest(Algorithm.SHA256, "81" * 32)),
        Entry("c", 3, FileDigest(Algorithm.GITSHA1, "4f" * 20)),
    ]


TREES = {
    "masked": (page(file(), file("b", lfs={**LFS, "oid": MASK})), Reason.ACCESS_DENIED),
    "an LFS size that is not the entry's": (page(file(lfs={**LFS, "size": 4})), Reason.INVALID_MANIFEST),
    "a submodule": (page({**file(), "type": "commit"}), Reason.INVALID_MANIFEST),
    "an unknown type": (page({**file(), "type": "symlink"}), Reason.INVALID_MANIFEST),
    "not JSON": (b"<html>", Reason.SOURCE_UNAVAILABLE),
    "nothing": (b"", Reason.SOURCE_UNAVAILABLE),
    "cut off": (page(file())[:-3], Reason.SOURCE_UNAVAILABLE),
    "not a list": (b'{"error": "x"}', Reason.SOURCE_UNAVAILABLE),
    "a list of something else": (b'["a"]', Reason.SOURCE_UNAVAILABLE),
    "no path": (page({"type": "file", "oid": "4f" * 20, "size": 3}), Reason.SOURCE_UNAVAILABLE),
    "a size that is text": (page(file(size="3")), Reason.SOURCE_UNAVAILABLE),
    "a size that is true": (page(file(size=True)), Reason.SOURCE_UNAVAILABLE),
    "a size of many digits": (
        b'[{"type":"file","oid":"x","path":"a","size":' + b"9" * 5000 + b"}]",
        Reason.SOURCE_UNAVAILABLE,
    ),
    "a path that is not UTF-8": (page(file()).replace(b'"a"', b'"\xff"'), Reason.SOURCE_UNAVAILABLE),
    "half a surrogate pair": (page(file("\ud800")), Reason.SOURCE_UNAVAILABLE),
    "nested without end": (b"[" * 100_000, Reason.SOURCE_UNAVAILABLE),
}


@pytest.mark.parametrize(("body", "reason"), TREES.values(), ids=TREES.keys())
def test_a_tree_that_hides_or_breaks_anything_is_refused(body: bytes, reason: Reason) -> None:
    with pytest.raises(GsmError) as caught:
        entries_of(body, NAME)
    assert caught.value.reason is reason
    assert caught.value.message.startswith(f"{NAME}: ")
    if reason is Reason.ACCESS_DENIED:
        assert "does not exist or is not accessible" in caught.value.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just("file"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "path", "size", "oid", "lfs", "sha", "x"]), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(st.one_of(JSON.map(lambda value: json.dumps(value).encode()), st.binary(max_size=40)))
def test_any_body_is_a_tree_or_a_reason(body: bytes) -> None:
    for read in (lambda: entries_of(body, NAME), lambda: commit_of(body, NAME, "main")):
        try:
            read()
        except GsmError as error:
            refused = error
        else:
            continue
        assert refused.reason in (Reason.SOURCE_UNAVAILABLE, Reason.INVALID_MANIFEST)
        assert refused.message.startswith(f"{NAME}: ")
        assert len(refused.message) < 1000


REFUSED_BY_THE_MANIFEST = {
    "an empty digest": file(oid=""),
    "a digest of another length": file(oid="4f" * 32),
    "an empty LFS digest": file(lfs={**LFS, "oid": ""}),
    "a negative size": file(size=-1),
    "a climbing path": file("../a"),
    "a control character": file("a\u0000b"),
}


@pytest.mark.parametrize("entry", REFUSED_BY_THE_MANIFEST.values(), ids=REFUSED_BY_THE_MANIFEST.keys())
def test_what_no_manifest_can_name_is_refused_by_it(entry: dict[str, Any]) -> None:
    entries, _ = entries_of(page(file("good"), entry), NAME)
    with pytest.raises(GsmError) as caught:
        Manifest.of(entries)
    assert caught.value.reason is Reason.INVALID_MANIFEST


def test_a_revision_names_its_commit() -> None:
    body = json.dumps({"id": "org/repo", "sha": COMMIT, "siblings": []}).encode()
    assert commit_of(body, NAME, "main") == COMMIT
    assert commit_of(body, NAME, COMMIT) == COMMIT
    assert commit_of(body, NAME, COMMIT[:7]) == COMMIT


REVISIONS = {
    "no sha": b"{}",
    "null": b'{"sha": null}',
    "short": json.dumps({"sha": COMMIT[:-1]}).encode(),
    "long": json.dumps({"sha": COMMIT * 2}).encode(),
    "capitals": json.dumps({"sha": COMMIT.upper()}).encode(),
    "a name": b'{"sha": "main"}',
    "a list": b"[]",
    "not JSON": b"<html>",
}


@pytest.mark.parametrize("body", REVISIONS.values(), ids=REVISIONS.keys())
def test_what_names_no_commit_is_refused(body: bytes) -> None:
    with pytest.raises(GsmError) as caught:
        commit_of(body, NAME, "main")
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


def test_another_commit_than_the_one_asked_for_is_refused() -> None:
    with pytest.raises(GsmError, match="0" * 40) as caught:
        commit_of(json.dumps({"sha": "0" * 40}).encode(), NAME, COMMIT)
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


def test_a_files_place_is_below_the_endpoint_with_the_token_for_it_alone() -> None:
    hub = HuggingFace(HttpClient(), "https://hub.example/hf", Token("planted", "HF_TOKEN"))
    location = hub.locate("org/re.po", COMMIT, "a b/c#d?é%.bin")
    assert location.url == f"https://hub.example/hf/org/re.po/resolve/{COMMIT}/a%20b/c%23d%3F%C3%A9%25.bin"
    assert location.endpoint == "https://hub.example/hf"
    assert location.headers == {"Authorization": "Bearer planted"}
    assert HuggingFace(HttpClient(), "https://hub.example").locate("gpt2", COMMIT, "a").headers == {}
