"""Owns that every reason a resolution can end with comes over the wire, from both hubs, by the fault that makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from gpustack_models.core.manifest import Manifest, check_expected
from gpustack_models.core.patterns import Patterns
from gpustack_models.core.refs import HubKind
from gpustack_models.errors import GsmError, NoAnswerError, Reason
from gpustack_models.hub_server import LocalHub
from gpustack_models.hubs.protocol import Hub
from tests.integration.conftest import TOKENS, HubFactory, Publish

from .shapes import BRANCH, HF, MS, asking
from .wire import closed_port

BIN = b"x" * 2000


def resolve(hub: Hub, repository: str, revision: str, patterns: Patterns | None, expected: str | None) -> str:
    """What a resolution does, in its order."""
    commit = hub.resolve(repository, revision)
    manifest = Manifest.of(hub.list(repository, commit), patterns)
    hub.check_access(repository, commit)
    check_expected(repository, manifest, expected)
    return manifest.digest


@dataclass(frozen=True)
class Row:
    """A fault of the hub (or a request that is at fault), and the reason it must end with."""

    reason: Reason
    hubs: tuple[HubKind, ...] = (HF, MS)
    repository: str = "org/open"
    revision: str = ""
    token: str = ""
    fault: str = ""
    path: str = "*"
    options: dict[str, Any] = field(default_factory=dict)
    patterns: Patterns | None = None
    expected: str | None = None
    silent: bool = False
    says: str = ""


TREE, REVISION = "/api/models/*/tree/*", "/api/models/*/revision/*"
FILES, COMMITS, GIT = "/api/v1/models/*/repo/files*", "/api/v1/models/*/commits*", "*/info/refs*"
LISTING = {HF: TREE, MS: FILES}
HIDDEN = "does not exist or is not accessible"
UNAVAILABLE, DENIED, INVALID = Reason.SOURCE_UNAVAILABLE, Reason.ACCESS_DENIED, Reason.INVALID_MANIFEST


def huge(document: Any) -> Any:
    entries = document if isinstance(document, list) else document["Data"]["Files"]
    entries[0]["size" if "size" in entries[0] else "Size"] = 1 << 63
    return document


def many(document: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**document[0], "path": f"{number}"} for number in range(100_001)]


ROWS: dict[str, Row] = {
    "a revision that is not there": Row(Reason.REVISION_NOT_FOUND, revision="no-such-branch", says="no such revision"),
    "a commit that is not there": Row(Reason.REVISION_NOT_FOUND, revision="0" * 40, says="no such revision"),
    "a repository that is not there": Row(DENIED, repository="org/none", says=HIDDEN),
    "a repository that is not there, with a token": Row(DENIED, repository="org/none", token="alice", says=HIDDEN),
    "a private repository": Row(DENIED, repository="org/private", says=HIDDEN),
    "a private repository of another": Row(DENIED, repository="org/private", token="bob", says=HIDDEN),
    "a gated repository": Row(DENIED, repository="org/gated", says=HIDDEN),
    "a gated repository without a grant": Row(DENIED, repository="org/gated", token="bob", says=HIDDEN),
    "a token that the hub rejects, on a private repository": Row(DENIED, repository="org/private", token="wrong"),
    "403": Row(DENIED, fault="status", options={"status": 403}, says=HIDDEN),
    "401": Row(DENIED, fault="status", options={"status": 401}, says=HIDDEN),
    "404": Row(DENIED, fault="status", options={"status": 404}, says=HIDDEN),
    "403 at the check only": Row(DENIED, fault="status", path="*", options={"status": 403, "method": "HEAD"}),
    "a masked tree": Row(DENIED, (HF,), fault="masked_tree", says="masked"),
    "500": Row(UNAVAILABLE, fault="status", options={"status": 500}, says="500"),
    "503": Row(UNAVAILABLE, fault="status", options={"status": 503}, says="503"),
    "429": Row(UNAVAILABLE, fault="status", options={"status": 429}, says="rate-limiting"),
    "418": Row(UNAVAILABLE, fault="status", options={"status": 418}, says="418"),
    "500 at the check only": Row(UNAVAILABLE, fault="status", options={"status": 500, "method": "HEAD"}),
    "not JSON": Row(UNAVAILABLE, fault="not_json", says="cannot be read"),
    "a commit that is none": Row(UNAVAILABLE, fault="bad_commit", says="40 hexadecimal"),
    "silence": Row(UNAVAILABLE, fault="silence", silent=True, says="did not answer"),
    "a reset before the answer": Row(UNAVAILABLE, fault="reset", options={"at": -1}, silent=True),
    "a body that breaks off": Row(UNAVAILABLE, fault="truncated", options={"at": 10}, says="broke off"),
    "a body that stalls": Row(UNAVAILABLE, fault="stall_body", options={"at": 10, "seconds": 60}, says="broke off"),
    "silence after the first answer": Row(UNAVAILABLE, (HF,), fault="silence", path=TREE),
    "silence of the listing": Row(UNAVAILABLE, (MS,), fault="silence", path=FILES),
    "silence of the git": Row(UNAVAILABLE, (MS,), fault="silence", path=GIT),
    "a git that disagrees": Row(UNAVAILABLE, (MS,), fault="disagreeing_git", says="its git"),
    "a git that cannot be read": Row(UNAVAILABLE, (MS,), fault="not_json", path=GIT, says="its git"),
    "a git that was misdirected": Row(UNAVAILABLE, (MS,), fault="status", path=GIT, options={"status": 421}),
    "a next page on another host": Row(UNAVAILABLE, (HF,), "org/many", fault="foreign_page", says="another host"),
    "pages without an end": Row(UNAVAILABLE, (HF,), fault="endless_pages", says="never end"),
    "an unreadable Link": Row(
        UNAVAILABLE, (HF,), fault="header", path=TREE, options={"value": "Link: <x"}, says="Link"
    ),
    "a redirect that never ends": Row(
        UNAVAILABLE, fault="redirect", options={"value": "/again", "method": "GET"}, says="redirects"
    ),
    "an unknown type": Row(INVALID, fault="unknown_type", path="listing", says="unknown type"),
    "an LFS size that is not the entry's": Row(INVALID, (HF,), fault="lfs_size", says="LFS pointer"),
    "a climbing path": Row(INVALID, fault="bad_path", path="listing", says="not a plain relative path"),
    "a control character": Row(INVALID, fault="bad_path", path="listing", options={"value": "a\x1b[2J"}),
    "a path twice": Row(INVALID, fault="duplicate_entry", path="listing", says="listed twice"),
    "a file without its SHA-256": Row(INVALID, (MS,), fault="no_sha256", path="listing", says="SHA-256"),
    "a SHA-256 that is none": Row(
        INVALID, (MS,), fault="no_sha256", path="listing", options={"value": "*" * 64}, says="malformed"
    ),
    "a size beyond 63 bits": Row(INVALID, fault="edit", path=TREE, options={"edit": huge}, hubs=(HF,), says="size"),
    "a size beyond 63 bits, too": Row(
        INVALID, fault="edit", path=FILES, options={"edit": huge}, hubs=(MS,), says="size"
    ),
    "a page of more than 16 MiB": Row(
        Reason.MANIFEST_TOO_LARGE, fault="padded", options={"at": 16 << 20}, says="16 MiB"
    ),
    "more than 100,000 entries": Row(
        Reason.MANIFEST_TOO_LARGE, (HF,), fault="edit", path=TREE, options={"edit": many}, says="100000"
    ),
    "patterns that keep nothing": Row(Reason.EMPTY_MANIFEST, patterns=Patterns(("nothing",)), says="patterns"),
    "another digest than the expected": Row(
        Reason.DIGEST_MISMATCH, expected="sha256:" + "0" * 64, says="sha256:" + "0" * 64
    ),
}


@pytest.fixture
def hub(publish: Publish, local_hub: HubFactory) -> LocalHub:
    publish("org/open", {"config.json": "{}", "model.bin": BIN})
    publish("org/private", {"config.json": "{}"}, "access: private\nreaders: alice\n")
    publish("org/gated", {"config.json": "{}", "model.bin": BIN}, "access: gated\nreaders: alice\n")
    publish("org/many", {f"{number}.json": "{}" for number in range(5)})
    return local_hub(page_size=3)


CASES = [(name, kind) for name, row in ROWS.items() for kind in row.hubs]


@pytest.mark.parametrize(("name", "kind"), CASES, ids=[f"{name}-{kind}" for name, kind in CASES])
def test_every_reason_comes_over_the_wire(hub: LocalHub, name: str, kind: HubKind) -> None:
    row = ROWS[name]
    token = TOKENS.get(row.token, "hf_unknown_to_the_hub" if row.token else "")
    if row.fault:
        hub.fault(row.fault, LISTING[kind] if row.path == "listing" else row.path, **row.options)
    waits = row.fault in ("silence", "stall_body")
    seconds, retries = (1, 0) if waits else (60, 1)
    asking_it = asking(hub, kind, token, read_timeout=seconds, retries=retries)
    with asking_it as asked, pytest.raises(GsmError) as caught:
        resolve(asked, row.repository, row.revision or BRANCH[kind], row.patterns, row.expected)
    error = caught.value
    assert error.reason is row.reason
    assert row.says in error.message
    assert error.message.startswith(("hf://", "ms://", "org/", "manifest"))
    assert error.message.isprintable()
    assert isinstance(error, NoAnswerError) is row.silent
    if row.fault:
        assert any(row.fault in request.faults for request in hub.requests), "the fault was met"
    assert not token or token not in f"{error.message} {error.hint}"


@pytest.mark.parametrize("kind", [HF, MS])
def test_without_a_fault_the_same_resolves(hub: LocalHub, kind: HubKind) -> None:
    for repository, token in (("org/open", ""), ("org/private", "alice"), ("org/gated", "alice"), ("org/many", "")):
        with asking(hub, kind, TOKENS.get(token, "")) as asked:
            assert resolve(asked, repository, BRANCH[kind], None, None).startswith("sha256:")


@pytest.mark.parametrize("kind", [HF, MS])
def test_a_hub_that_is_away_is_silent(kind: HubKind) -> None:
    with asking(f"http://127.0.0.1:{closed_port()}", kind) as asked, pytest.raises(NoAnswerError):
        asked.resolve("org/open", BRANCH[kind])


HINTS: dict[str, tuple[str, str, Callable[[str], bool]]] = {
    "no token": ("org/private", "", lambda hint: "--token-file" in hint),
    "a token": ("org/private", "bob", lambda hint: "the token of the test" in hint and "/org/private" in hint),
    "a revision": ("org/open", "", lambda hint: "branches and tags are at" in hint),
}


@pytest.mark.parametrize("kind", [HF, MS])
@pytest.mark.parametrize(("repository", "token", "fits"), HINTS.values(), ids=HINTS.keys())
def test_a_refusal_shows_the_next_step(
    hub: LocalHub, kind: HubKind, repository: str, token: str, fits: Callable[[str], bool]
) -> None:
    with asking(hub, kind, TOKENS.get(token, "")) as asked, pytest.raises(GsmError) as caught:
        asked.resolve(repository, "nowhere")
    assert fits(caught.value.hint)


@pytest.mark.parametrize("kind", [HF, MS])
@pytest.mark.parametrize(("asked_for", "seconds"), [("17", 17.0), ("99999", 86_400.0)])
def test_what_a_rate_limit_asks_for_is_in_the_error(
    hub: LocalHub, kind: HubKind, asked_for: str, seconds: float
) -> None:
    hub.fault("status", status=429, retry_after=asked_for)
    with asking(hub, kind, retries=0) as asked, pytest.raises(GsmError) as caught:
        asked.resolve("org/open", BRANCH[kind])
    assert caught.value.retry_after == seconds
