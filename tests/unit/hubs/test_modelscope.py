"""Owns the rows of ModelScope's answer table, its envelope and its cross-check, as values. Refuses sockets."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.answers import row_of
from gpustack_models.hubs.http import Answer, HttpClient
from gpustack_models.hubs.modelscope import (
    ANSWERS,
    NO_ACCESS,
    NO_COMMIT,
    NO_FILE_TREE,
    NOT_FOUND,
    ModelScope,
    check_agreement,
    commit_of,
    envelope_of,
    status_of,
)
from gpustack_models.hubs.tokens import Token

from .test_gitrefs import WHOLE, A, D

NAME = "ms://org/repo@master"
COMMIT = "7ae557604adf67be50417f59c2c2f167def9a775"


def answer(status: int, code: Any = None, **more: Any) -> Answer:
    return Answer(status, {}, json.dumps({"Code": code, "Success": False, **more}).encode(), "http://hub")


def found(given: Answer) -> str:
    return row_of(ANSWERS, *status_of(given, envelope_of(given))).id


PAGE = b"<html></html>"

#: By row: the answers that are its own, as HTTP status and envelope code (or a body that is no envelope).
ROWS: dict[str, tuple[list[tuple[int, Any]], Reason]] = {
    "no-file-tree": ([(404, NO_FILE_TREE), (200, NO_FILE_TREE), (500, NO_FILE_TREE)], Reason.REVISION_NOT_FOUND),
    "not-found": ([(404, NOT_FOUND), (200, NOT_FOUND)], Reason.ACCESS_DENIED),
    "no-access": ([(404, NO_ACCESS), (403, NO_ACCESS), (200, NO_ACCESS)], Reason.ACCESS_DENIED),
    "refused": (
        [(401, None), (403, None), (404, None), (404, 10010299999), (200, 403), (500, 404), (404, PAGE), (401, "x")],
        Reason.ACCESS_DENIED,
    ),
    "rate-limited": ([(429, None), (200, 429), (429, PAGE), (429, 10010299999)], Reason.SOURCE_UNAVAILABLE),
    "server-error": ([(500, None), (502, PAGE), (200, 500), (503, 10010299999)], Reason.SOURCE_UNAVAILABLE),
    "unexpected": (
        [(200, 10010299999), (200, None), (302, PAGE), (400, 10010103009), (421, PAGE)],
        Reason.SOURCE_UNAVAILABLE,
    ),
}


@pytest.mark.parametrize("row", ANSWERS, ids=[row.id for row in ANSWERS])
def test_every_row_of_the_table(row: Any) -> None:
    answers, reason = ROWS[row.id]
    assert row.reason is reason
    for status, code in answers:
        given = Answer(status, {}, code, "http://hub") if isinstance(code, bytes) else answer(status, code)
        assert found(given) == row.id, (status, code)


@given(st.integers(100, 599), st.binary(max_size=60))
def test_every_answer_has_a_row(status: int, body: bytes) -> None:
    given = Answer(status, {}, body, "http://hub")
    assert row_of(ANSWERS, *status_of(given, envelope_of(given))) in ANSWERS


def test_a_commits_answer_names_its_first_commit() -> None:
    assert commit_of(msgspec.Raw(json.dumps({"Commit": [{"Id": COMMIT, "Title": "x"}]}).encode()), NAME) == COMMIT


@pytest.mark.parametrize("data", [b'{"Commit": null, "TotalCount": 0}', b'{"Commit": []}'])
def test_no_commit_for_the_ref(data: bytes) -> None:
    assert commit_of(msgspec.Raw(data), NAME) is None
    assert (NO_COMMIT.id, NO_COMMIT.reason) == ("no-commit", Reason.REVISION_NOT_FOUND)


COMMITS = {
    "no list": (b"{}", Reason.SOURCE_UNAVAILABLE),
    "no data": (b"null", Reason.SOURCE_UNAVAILABLE),
    "a branch's name": (b'{"Commit": [{"Id": "master"}]}', Reason.SOURCE_UNAVAILABLE),
    "a short id": (b'{"Commit": [{"Id": "7ae5576"}]}', Reason.SOURCE_UNAVAILABLE),
    "no id": (b'{"Commit": [{"ShortId": "7ae5576"}]}', Reason.SOURCE_UNAVAILABLE),
}


@pytest.mark.parametrize(("data", "reason"), COMMITS.values(), ids=COMMITS.keys())
def test_what_names_no_commit(data: bytes, reason: Reason) -> None:
    with pytest.raises(GsmError) as caught:
        commit_of(msgspec.Raw(data), NAME)
    assert caught.value.reason is reason
    assert caught.value.message.startswith(f"{NAME}: ")


def test_index_and_git_agree_on_branches_and_peeled_tags() -> None:
    check_agreement(WHOLE, NAME, "master", A)
    check_agreement(WHOLE, NAME, "v1", D)


DISAGREEMENTS = {
    "another commit": ("master", D, WHOLE),
    "the tag object, not the commit": ("v1", "c" * 40, WHOLE),
    "a misspelt branch, though HEAD would confirm it": ("mastre", A, WHOLE),
    "an advertisement that cannot be read": ("master", A, WHOLE[:-4]),
    "a page": ("master", A, PAGE),
}


@pytest.mark.parametrize(("revision", "commit", "advertised"), DISAGREEMENTS.values(), ids=DISAGREEMENTS.keys())
def test_index_and_git_disagree(revision: str, commit: str, advertised: bytes) -> None:
    with pytest.raises(GsmError) as caught:
        check_agreement(advertised, NAME, revision, commit)
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


def test_a_full_commit_is_taken_as_it_is_with_no_request() -> None:
    # No socket can be opened here, so a request would fail.
    assert ModelScope(HttpClient(), "http://127.0.0.1:9").resolve("org/repo", COMMIT) == COMMIT


def test_a_files_place_is_below_the_endpoint_with_the_token_for_it_alone() -> None:
    hub = ModelScope(HttpClient(), "https://hub.example", Token("planted", "MODELSCOPE_API_TOKEN"))
    location = hub.locate("org/repo", COMMIT, "a b/c&d=é.bin")
    path = f"repo?Revision={COMMIT}&FilePath=a%20b%2Fc%26d%3D%C3%A9.bin"
    assert location.url == f"https://hub.example/api/v1/models/org/repo/{path}"
    assert location.headers == {"Authorization": "Bearer planted"}
