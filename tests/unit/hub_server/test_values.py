"""Owns the local hub's pure parts: targets, ranges, revisions, settings of access, the ref advertisement, records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.hub_server.content import disposition, span_of
from gpustack_models.hub_server.faults import Fault, Faults
from gpustack_models.hub_server.gitwire import advertisement
from gpustack_models.hub_server.links import Links
from gpustack_models.hub_server.record import Open, fingerprint, redacted
from gpustack_models.hub_server.repository import Access, Commit, File, Repository, Settings, Tag
from gpustack_models.hub_server.settings import Tokens
from gpustack_models.hub_server.wire import Ask, Caller, FileKey, Origin, TokenState, split_target

OLD, NEW, TAG = "0a" * 20, "0b" * 20, "0c" * 20


def commit(oid: str) -> Commit:
    return Commit(oid, {}, {"": "0d" * 20}, "message", 0)


def repository(**changes: object) -> Repository:
    known: dict[str, object] = {
        "name": "org/name",
        "settings": Settings(),
        "commits": {OLD: commit(OLD), NEW: commit(NEW)},
        "branches": {"main": NEW, "dev": OLD},
        "tags": {"light": Tag(OLD, OLD), "heavy": Tag(OLD, TAG)},
        "pulls": {3: OLD},
    }
    return Repository(**{**known, **changes})  # type: ignore[arg-type]


TARGETS = {
    "plain": (b"/a/b", b"", ("a", "b"), {}),
    "an encoded slash stays in its segment": (b"/r/refs%2Fpr%2F1/x", b"", ("r", "refs/pr/1", "x"), {}),
    "a query": (b"/a", b"FilePath=a%2Fb&Revision=", ("a",), {"FilePath": "a/b", "Revision": ""}),
    "the first value counts": (b"/a", b"x=1&x=2", ("a",), {"x": "1"}),
    "utf-8": (b"/caf%C3%A9", b"", ("café",), {}),
    "the root": (b"/", b"", ("",), {}),
}


@pytest.mark.parametrize(("path", "query", "segments", "values"), TARGETS.values(), ids=TARGETS)
def test_a_target_is_split_before_it_is_decoded(
    path: bytes, query: bytes, segments: tuple[str, ...], values: dict[str, str]
) -> None:
    assert split_target(path, query) == (segments, values)


@given(first=st.integers(0, 50), length=st.integers(1, 50), size=st.integers(0, 60))
def test_a_range_never_leaves_the_file(first: int, length: int, size: int) -> None:
    span = span_of(f"bytes={first}-{first + length - 1}", size)
    assert span is not None
    assert list(span) == [at for at in range(first, first + length) if at < size]


@given(st.text(max_size=20), st.integers(0, 100))
def test_any_range_header_is_read(header: str, size: int) -> None:
    span = span_of(header, size)
    assert span is None or all(0 <= at < size for at in span)


REVISIONS = {
    "a branch": ("dev", "main", OLD),
    "the default branch": ("main", "main", NEW),
    "the other hub's default branch": ("master", "master", NEW),
    "not the other hub's name for it": ("master", "main", None),
    "a light tag": ("light", "main", OLD),
    "an annotated tag is peeled": ("heavy", "main", OLD),
    "a commit": (OLD, "main", OLD),
    "an unknown commit": ("f" * 40, "main", None),
    "a tag object is no commit": (TAG, "main", None),
    "nothing": ("", "main", None),
}
SHORT_REVISIONS = {
    "a short commit": (OLD[:7], OLD),
    "too short a commit": (OLD[:6], None),
    "a short commit of nothing": ("fffffff", None),
    "a pull request": ("refs/pr/3", OLD),
    "no pull request": ("refs/pr/4", None),
    "no number": ("refs/pr/x", None),
    "a branch in full": ("refs/heads/dev", OLD),
    "a tag in full": ("refs/tags/heavy", OLD),
    "another ref": ("refs/notes/x", None),
}


@pytest.mark.parametrize(("revision", "default", "expected"), REVISIONS.values(), ids=REVISIONS)
def test_a_revision(revision: str, default: str, expected: str | None) -> None:
    found = repository().resolve(revision, default)
    assert (found.id if found else None) == expected


@pytest.mark.parametrize(("revision", "expected"), SHORT_REVISIONS.values(), ids=SHORT_REVISIONS)
def test_a_revision_in_another_form(revision: str, expected: str | None) -> None:
    found = repository().resolve(revision, "main", short=True)
    assert (found.id if found else None) == expected
    assert repository().resolve(revision, "main") is None


def test_an_ambiguous_short_commit_names_none() -> None:
    close = "0a" * 19 + "0b"
    assert repository(commits={OLD: commit(OLD), close: commit(close)}).resolve(OLD[:8], "main", short=True) is None


def test_both_default_branches_stay_when_both_are_there() -> None:
    both = repository(branches={"main": NEW, "master": OLD})
    assert both.branches_at("main") == both.branches_at("master") == {"main": NEW, "master": OLD}


ACCESS = {
    "public, nobody": (Access.PUBLIC, "", True, True),
    "private, nobody": (Access.PRIVATE, "", False, False),
    "private, a reader": (Access.PRIVATE, "alice", True, True),
    "private, another": (Access.PRIVATE, "bob", False, False),
    "gated, nobody": (Access.GATED, "", True, False),
    "gated, a reader": (Access.GATED, "alice", True, True),
    "gated, another": (Access.GATED, "bob", True, False),
}


@pytest.mark.parametrize(("access", "name", "lists", "reads"), ACCESS.values(), ids=ACCESS)
def test_access(access: Access, name: str, lists: bool, reads: bool) -> None:
    settings = Settings(access, frozenset({"alice"}))
    caller = Caller(TokenState.ACCEPTED if name else TokenState.ABSENT, name)
    assert (settings.lists_for(caller), settings.reads_for(caller)) == (lists, reads)


def test_a_rejected_token_is_nobody() -> None:
    tokens = Tokens({"alice": "good", "": "empty"})
    assert tokens.caller("good") == Caller(TokenState.ACCEPTED, "alice")
    assert tokens.caller("bad") == Caller(TokenState.REJECTED)
    assert tokens.caller(None) == tokens.caller("") == Caller()
    assert tokens.caller("empty") == Caller(TokenState.REJECTED)
    assert "good" not in repr(vars(tokens))


def test_the_advertisement_in_pkt_lines() -> None:
    only = repository(branches={"main": NEW}, tags={"v1": Tag(OLD, TAG)})
    data = advertisement(only, "master")
    assert data.startswith(b"001e# service=git-upload-pack\n0000")
    assert data.endswith(b"0000")
    body = data.removeprefix(b"001e# service=git-upload-pack\n0000").removesuffix(b"0000")
    lines = []
    while body:
        size = int(body[:4], 16)
        lines.append(body[4:size])
        body = body[size:]
    assert [line.partition(b"\0")[0].strip() for line in lines] == [
        f"{NEW} HEAD".encode(),
        f"{NEW} refs/heads/master".encode(),
        f"{TAG} refs/tags/v1".encode(),
        f"{OLD} refs/tags/v1^{{}}".encode(),
    ]
    assert b"symref=HEAD:refs/heads/master" in lines[0]


def test_a_record_keeps_no_credential() -> None:
    headers = {"authorization": "Bearer hf_secret", "cookie": "m_session_id=hf_secret", "accept": "*/*"}
    kept = redacted(headers)
    request = Open(Origin.HUB, "GET", "/", {}, kept).value()
    assert request.authorized
    assert kept["authorization"] == fingerprint("Bearer hf_secret")
    assert "hf_secret" not in f"{request!r}{kept}"
    assert not Open(Origin.HUB, "GET", "/", {}, redacted({"accept": "*/*"})).value().authorized


def test_a_link_shows_no_query_in_a_log() -> None:
    request = Open(Origin.CDN, "GET", "/repos/x", {"Signature": "s3cret"}, {}).value()
    assert "s3cret" not in str(request)


def test_a_link_ends_with_its_time() -> None:
    now = [1000.0]
    links = Links(b"key", 8101, seconds=60, clock=lambda: now[0])
    file = File("a/weights.bin", 5, "ab" * 32, "cd" * 20, True, 127, FileKey("/x", 5, 0, 1))
    link = links.sign(file, "http://127.0.0.1:8100")
    assert link.startswith("http://localhost:8101/repos/ab/ab/")
    path, _, query = link.removeprefix("http://localhost:8101").partition("?")
    segments, values = split_target(path.encode(), query.encode())
    ask = Ask("GET", segments, values, origin=Origin.CDN)
    assert links.answer(ask).status == 200
    now[0] += 61
    assert links.answer(ask).status == 403


HOSTS = {
    "another name of loopback": ("http://127.0.0.1:1", "localhost"),
    "and back": ("http://localhost:1", "127.0.0.1"),
    "another machine": ("http://models.internal:1", "models.internal"),
    "an IPv6 address": ("http://[::1]:1", "[::1]"),
}


@pytest.mark.parametrize(("base", "host"), HOSTS.values(), ids=HOSTS)
def test_the_second_origin_is_another_host_where_it_can_be(base: str, host: str) -> None:
    links = Links(b"key", 2, seconds=60, clock=lambda: 0)
    file = File("weights.bin", 5, "ab" * 32, "cd" * 20, True, 127, FileKey("/x", 5, 0, 1))
    assert links.sign(file, base).startswith(f"http://{host}:2/")


NAMES = {
    "plain": ("a/config.json", "inline; filename*=UTF-8''config.json; filename=\"config.json\";"),
    "another script": ("é.bin", "inline; filename*=UTF-8''%C3%A9.bin; filename=\"?.bin\";"),
    "a quote": ('a"b', "inline; filename*=UTF-8''a%22b; filename=\"a_b\";"),
}


@pytest.mark.parametrize(("path", "expected"), NAMES.values(), ids=NAMES)
def test_a_disposition_is_one_ascii_header(path: str, expected: str) -> None:
    assert disposition(path) == expected
    assert disposition(path).isascii()


def test_faults_are_switched_off_one_by_one() -> None:
    first, second = Fault("reset", times=1), Fault("reset", times=1)
    faults = Faults([first, second])
    faults.remove(first)
    ask = Ask("GET", ("x",))
    assert faults.meet(ask).faults == (second,)
    assert faults.meet(ask).faults == ()
