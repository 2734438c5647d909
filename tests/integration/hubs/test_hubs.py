"""Owns what each hub is asked and how its answers become commits and files: paging, tags, walks, spurious refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpustack_models.core.manifest import Algorithm, Manifest
from gpustack_models.core.refs import HubKind
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hub_server import LocalHub
from gpustack_models.hubs.protocol import TokenState
from tests.integration.conftest import TOKENS, HubFactory, Publish

from .clients import Sleeps
from .shapes import BRANCH, HF, MS, VERSIONED, VERSIONS, asking

BIN = b"x" * 2000


def asked(hub: LocalHub, *, query: bool = False) -> list[str]:
    return [
        f"{request.method} {request.path}" + (f" {dict(request.query)}" if query else "") for request in hub.requests
    ]


# --- both hubs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [HF, MS])
def test_branches_tags_and_commits_are_resolved(publish: Publish, local_hub: HubFactory, kind: HubKind) -> None:
    publish("org/model", VERSIONS, VERSIONED)
    hub = local_hub()
    with asking(hub, kind) as opened:
        new = opened.resolve("org/model", BRANCH[kind])
        old = opened.resolve("org/model", "dev/x")
        assert new != old
        assert opened.resolve("org/model", "light") == old
        assert opened.resolve("org/model", "heavy") == old, "an annotated tag is peeled"
        assert opened.resolve("org/model", new) == new
        files = {entry.path: entry for entry in opened.list("org/model", old)}
    assert set(files) == {"config.json", "old.bin"}
    assert files["old.bin"].digest.algorithm is Algorithm.SHA256
    assert files["config.json"].digest.algorithm is (Algorithm.GITSHA1 if kind is HF else Algorithm.SHA256)


@pytest.mark.parametrize("kind", [HF, MS])
def test_names_that_need_quoting_survive(publish: Publish, local_hub: HubFactory, kind: HubKind) -> None:
    names = ["a b.json", "c#d?e&f=g%h+i.bin", "模型/é.bin", "d/~'()!$,;:@[]"]
    publish("org/mo.del_1-2", {name: BIN + name.encode() for name in names})
    hub = local_hub()
    with asking(hub, kind) as opened:
        commit = opened.resolve("org/mo.del_1-2", BRANCH[kind])
        assert sorted(entry.path for entry in opened.list("org/mo.del_1-2", commit)) == sorted(names)
        for name in names:
            opened.check_access("org/mo.del_1-2", commit, name)


@pytest.mark.parametrize("kind", [HF, MS])
def test_the_check_asks_for_the_first_file_at_the_root(publish: Publish, local_hub: HubFactory, kind: HubKind) -> None:
    publish("org/model", {"z.json": "{}", "b.json": "{}", "a/first.json": "{}"})
    hub = local_hub()
    with asking(hub, kind) as opened:
        commit = opened.resolve("org/model", BRANCH[kind])
        hub.forget()
        opened.check_access("org/model", commit)
    listing, head = hub.requests
    assert "true" not in listing.query.values(), "one page of the root, not the whole tree"
    assert head.method == "HEAD"
    assert "b.json" in f"{head.path}{head.query}"


@pytest.mark.parametrize("kind", [HF, MS])
def test_the_check_looks_deeper_when_the_root_holds_no_file(
    publish: Publish, local_hub: HubFactory, kind: HubKind
) -> None:
    publish("org/model", {"b/z.json": "{}", "b/c/a.bin": BIN, "d/a.json": "{}"})
    hub = local_hub()
    with asking(hub, kind) as opened:
        commit = opened.resolve("org/model", BRANCH[kind])
        hub.forget()
        opened.check_access("org/model", commit)
    assert [request.method for request in hub.requests] == ["GET", "GET", "HEAD"]
    assert "b/c/a.bin" in f"{hub.requests[-1].path}{hub.requests[-1].query}"


@pytest.mark.parametrize("kind", [HF, MS])
def test_the_check_does_not_follow_an_lfs_file_to_its_bytes(
    publish: Publish, local_hub: HubFactory, kind: HubKind
) -> None:
    publish("org/model", {"a.bin": BIN})
    hub = local_hub()
    with asking(hub, kind) as opened:
        commit = opened.resolve("org/model", BRANCH[kind])
        hub.forget()
        opened.check_access("org/model", commit, "a.bin")
    assert [(request.method, request.status) for request in hub.requests] == [("HEAD", 302)]


@pytest.mark.parametrize("kind", [HF, MS])
def test_the_check_of_a_commit_that_is_gone_is_refused(publish: Publish, local_hub: HubFactory, kind: HubKind) -> None:
    publish("org/model", {"a.json": "{}"})
    with asking(local_hub(), kind) as opened, pytest.raises(GsmError) as caught:
        opened.check_access("org/model", "0" * 40, "a.json")
    assert caught.value.reason is (Reason.REVISION_NOT_FOUND if kind is HF else Reason.ACCESS_DENIED)


STATES = {
    "none": ("", TokenState.ABSENT),
    "known": (TOKENS["alice"], TokenState.ACCEPTED),
    "unknown": ("hf_unknown", TokenState.REJECTED),
}


@pytest.mark.parametrize("kind", [HF, MS])
@pytest.mark.parametrize(("token", "state"), STATES.values(), ids=STATES.keys())
def test_a_hub_is_asked_about_a_token(
    publish: Publish, local_hub: HubFactory, kind: HubKind, token: str, state: TokenState
) -> None:
    publish("org/model", {"a.json": "{}"})
    hub = local_hub()
    with asking(hub, kind, token) as opened:
        assert opened.check_token() is state
        assert len(hub.requests) == (0 if state is TokenState.ABSENT else 1)
        # On a public repository the hub itself is silent about a token that it rejects.
        commit = opened.resolve("org/model", BRANCH[kind])
        assert len(opened.list("org/model", commit)) == 1


@pytest.mark.parametrize("kind", [HF, MS])
@pytest.mark.parametrize("status", [404, 500, 429, 302])
def test_a_hub_that_cannot_say_is_not_taken_for_a_rejection(
    publish: Publish, local_hub: HubFactory, kind: HubKind, status: int
) -> None:
    hub = local_hub()
    hub.fault("status", status=status)
    with asking(hub, kind, TOKENS["alice"]) as opened, pytest.raises(GsmError) as caught:
        opened.check_token()
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


@pytest.mark.parametrize("kind", [HF, MS])
def test_a_token_is_not_sent_to_whom_the_probe_is_redirected(local_hub: HubFactory, kind: HubKind) -> None:
    hub = local_hub()
    hub.fault("redirect", value=f"{hub.cdn_url}/anything")
    with asking(hub, kind, TOKENS["alice"]) as opened, pytest.raises(GsmError) as caught:
        opened.check_token()
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE
    assert [request.origin for request in hub.requests] == ["hub"]


@pytest.mark.parametrize("kind", [HF, MS])
def test_the_token_goes_to_the_hub_and_nowhere_else(publish: Publish, local_hub: HubFactory, kind: HubKind) -> None:
    publish("org/model", {"a.bin": BIN, "b.json": "{}"}, "access: private\nreaders: alice\n")
    hub = local_hub()
    hub.fault("redirect", "/api/models/*/tree/*", value=f"{hub.cdn_url}/tree", times=1)
    hub.fault("redirect", "/api/v1/models/*/repo/files*", value=f"{hub.cdn_url}/tree", times=1)
    with asking(hub, kind, TOKENS["alice"]) as opened:
        commit = opened.resolve("org/model", BRANCH[kind])
        with pytest.raises(GsmError):
            opened.list("org/model", commit)
        assert len(opened.list("org/model", commit)) == 2
    assert {(request.origin, request.authorized) for request in hub.requests} == {("hub", True), ("cdn", False)}


@pytest.mark.parametrize("kind", [HF, MS])
def test_progress_is_told_while_a_listing_is_read(publish: Publish, local_hub: HubFactory, kind: HubKind) -> None:
    publish("org/model", {f"{number}.json": "{}" for number in range(7)})
    seen: list[int] = []
    with asking(local_hub(page_size=3), kind) as opened:
        opened.list("org/model", opened.resolve("org/model", BRANCH[kind]), seen.append)
    assert seen == ([3, 6, 7] if kind is HF else [7])


def test_a_real_model_has_one_digest_wherever_it_is_listed(
    publish: Publish, local_hub: HubFactory, minilm_files: dict[str, Path]
) -> None:
    publish("org/model", minilm_files)
    publish("team/copy", minilm_files, "access: private\nreaders: alice\n")
    hub = local_hub()
    digests: dict[HubKind, set[str]] = {HF: set(), MS: set()}
    for kind in (HF, MS):
        for name in ("org/model", "team/copy"):
            with asking(hub, kind, TOKENS["alice"], read_timeout=60) as opened:
                commit = opened.resolve(name, BRANCH[kind])
                entries = opened.list(name, commit)
                digests[kind].add(Manifest.of(entries).digest)
                by_path = {entry.path: entry for entry in entries}
                assert str(by_path["model.safetensors"].digest) == (
                    "sha256:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
                )
                if kind is HF:
                    assert str(by_path["tokenizer.json"].digest) == "gitsha1:cb202bfe2e3c98645018a6d12f182a434c9d3e02"
    assert len(digests[HF]) == len(digests[MS]) == 1
    assert digests[HF] != digests[MS]


# --- Hugging Face ----------------------------------------------------------------------------------------------------


def test_2500_files_come_in_three_pages(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", {f"{number:04}.json": "{}" for number in range(2500)})
    hub = local_hub()
    with asking(hub, HF, read_timeout=60) as opened:
        commit = opened.resolve("org/model", "main")
        hub.forget()
        entries = opened.list("org/model", commit)
    assert [entry.path for entry in entries] == [f"{number:04}.json" for number in range(2500)]
    assert len(hub.requests) == 3


def test_short_commits_and_pull_requests_are_the_revision_endpoints(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", VERSIONS, VERSIONED)
    hub = local_hub()
    with asking(hub, HF) as opened:
        old = opened.resolve("org/model", "dev/x")
        hub.forget()
        assert opened.resolve("org/model", "refs/pr/3") == old
        assert opened.resolve("org/model", old[:8]) == old
    assert asked(hub) == [
        "GET /api/models/org/model/revision/refs/pr/3",
        f"GET /api/models/org/model/revision/{old[:8]}",
    ]


def test_a_bare_legacy_name_is_a_repository(publish: Publish, local_hub: HubFactory) -> None:
    publish("gpt2", {"config.json": "{}"})
    with asking(local_hub(), HF) as opened:
        commit = opened.resolve("gpt2", "main")
        assert [entry.path for entry in opened.list("gpt2", commit)] == ["config.json"]
        opened.check_access("gpt2", commit)


def test_a_hub_that_answers_another_commit_is_not_believed(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", VERSIONS, VERSIONED)
    hub = local_hub()
    with asking(hub, HF) as opened:
        old = opened.resolve("org/model", "dev/x")
        hub.fault("bad_commit", value="f" * 40)
        with pytest.raises(GsmError, match="it names the commit f") as caught:
            opened.resolve("org/model", old)
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


def test_a_page_that_fails_once_is_asked_again(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", {f"{number}.json": "{}" for number in range(6)})
    hub = local_hub(page_size=2)
    sleeps = Sleeps()
    hub.fault("status", "/api/models/*/tree/*", status=429, retry_after="4", after=1, times=1)
    hub.fault("truncated", "/api/models/*/tree/*", at=20, after=3, times=1)
    with asking(hub, HF, sleeps=sleeps, retries=2) as opened:
        entries = opened.list("org/model", opened.resolve("org/model", "main"))
    assert len(entries) == len({entry.path for entry in entries}) == 6
    assert sleeps.slept == [4.5, 0.5]


# --- ModelScope ------------------------------------------------------------------------------------------------------


def many(folder: str, count: int) -> dict[str, str]:
    return {f"{folder}/{number:05}.json": "{}" for number in range(count)}


def test_a_truncated_listing_is_walked(publish: Publish, local_hub: HubFactory) -> None:
    files = {"README.md": "x", **many("big/a", 2000), **many("big/b", 1500), **many("small", 10)}
    publish("org/model", files)
    hub = local_hub()
    with asking(hub, MS, read_timeout=60) as opened:
        commit = opened.resolve("org/model", "master")
        hub.forget()
        entries = opened.list("org/model", commit)
    assert sorted(entry.path for entry in entries) == sorted(files)
    assert [(request.query.get("Root", ""), request.query["Recursive"]) for request in hub.requests] == [
        ("", "true"),
        ("", "false"),
        ("big", "true"),
        ("big", "false"),
        ("big/a", "true"),
        ("big/b", "true"),
        ("small", "true"),
    ]


def test_a_directory_of_3000_files_is_refused_and_not_cut_short(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", {"README.md": "x", **many("flat", 3000)})
    with asking(local_hub(), MS, read_timeout=60) as opened:
        commit = opened.resolve("org/model", "master")
        with pytest.raises(GsmError, match="'flat' has 3000") as caught:
            opened.list("org/model", commit)
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


def test_a_403_in_the_middle_of_a_walk_is_asked_again(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", {**many("a", 2000), **many("b", 1500)})
    hub = local_hub()
    fault = hub.fault("status", "/api/v1/models/*/repo/files*", status=403, after=2, times=2)
    sleeps = Sleeps()
    with asking(hub, MS, sleeps=sleeps, retries=3, read_timeout=60) as opened:
        commit = opened.resolve("org/model", "master")
        assert len(opened.list("org/model", commit)) == 3500
        assert sleeps.slept == [0.5, 1.0]
        hub.unfault(fault)
        hub.fault("status", "/api/v1/models/*/repo/files*", status=403, after=2)
        with pytest.raises(GsmError, match="in the middle of a listing") as caught:
            opened.list("org/model", commit)
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE


def test_a_403_at_the_beginning_is_a_refusal(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", {"a.json": "{}"})
    hub = local_hub()
    hub.fault("status", "/api/v1/models/*/repo/files*", status=403)
    with asking(hub, MS, retries=3) as opened:
        commit = opened.resolve("org/model", "master")
        hub.forget()
        with pytest.raises(GsmError) as caught:
            opened.list("org/model", commit)
    assert caught.value.reason is Reason.ACCESS_DENIED
    assert len(hub.requests) == 1


def test_git_is_asked_as_git_and_with_its_own_kind_of_credential(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", {"a.json": "{}"}, "access: private\nreaders: alice\n")
    hub = local_hub()
    with asking(hub, MS, TOKENS["alice"]) as opened:
        opened.resolve("org/model", "master")
    commits, git = hub.requests
    assert commits.query == {"Ref": "master", "PageSize": "1"}
    assert git.path == "/org/model.git/info/refs"
    assert git.headers["user-agent"].startswith("git/")
    assert commits.headers["user-agent"].startswith("gsm/")
    assert commits.headers["authorization"] != git.headers["authorization"]


def test_a_misspelt_branch_is_not_the_default_one(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", {"a.json": "{}"})
    hub = local_hub()
    with asking(hub, MS) as opened:
        commit = opened.resolve("org/model", "master")

        def default_branch(document: dict[str, object]) -> dict[str, object]:
            return {**document, "Data": {"Commit": [{"Id": commit}], "TotalCount": 1}}

        hub.fault("edit", "/api/v1/models/*/commits*", edit=default_branch)
        with pytest.raises(GsmError, match="no branch or tag 'mastre'") as caught:
            opened.resolve("org/model", "mastre")
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE
