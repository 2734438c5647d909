"""Owns that `huggingface_hub` works against the local hub: what it lists, and the errors of its own that it raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from huggingface_hub import HfApi, RepoFile, RepoFolder, get_hf_file_metadata, hf_hub_download, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from gpustack_models.core.gitobjects import blob_id
from gpustack_models.hub_server import LocalHub
from tests.integration.conftest import TOKENS, HubFactory, Publish
from tests.integration.hub_server.shapes import VERSIONED, VERSIONS, closed


def api(hub: LocalHub, user: str = "") -> HfApi:
    return HfApi(endpoint=hub.url, token=TOKENS.get(user, user) or False)


@pytest.fixture
def versions(publish: Publish, local_hub: HubFactory) -> LocalHub:
    publish("org/versions", VERSIONS, VERSIONED)
    return local_hub()


def test_refs_do_not_peel_and_revisions_do(versions: LocalHub) -> None:
    refs = api(versions).list_repo_refs("org/versions", include_pull_requests=True)
    branches = {ref.name: ref.target_commit for ref in refs.branches}
    tags = {ref.name: ref.target_commit for ref in refs.tags}
    assert set(branches) == {"dev", "main"}
    assert branches["dev"] != branches["main"]
    assert tags["light"] == branches["dev"]
    assert tags["heavy"] not in branches.values()
    assert [(ref.ref, ref.target_commit) for ref in refs.pull_requests or []] == [("refs/pr/1", branches["dev"])]
    named = (
        "dev",
        "light",
        "heavy",
        "refs/pr/1",
        "refs/tags/heavy",
        "refs/heads/dev",
        branches["dev"],
        branches["dev"][:8],
    )
    assert {api(versions).model_info("org/versions", revision=name).sha for name in named} == {branches["dev"]}


def test_history_goes_to_the_first_commit(versions: LocalHub) -> None:
    commits = api(versions).list_repo_commits("org/versions")
    assert [commit.title for commit in commits] == ["Second", "First"]
    assert commits[0].created_at > commits[1].created_at


def test_a_tree_has_files_folders_and_lfs(versions: LocalHub) -> None:
    old = list(api(versions).list_repo_tree("org/versions", revision="dev"))
    config, weights = old
    assert isinstance(config, RepoFile)
    assert isinstance(weights, RepoFile)
    assert (config.path, config.size, config.blob_id, config.lfs) == ("config.json", 1, blob_id(b"1"), None)
    assert weights.lfs is not None
    assert (weights.path, weights.size, weights.lfs.size, weights.lfs.pointer_size) == ("weights.bin", 11, 11, 127)
    top = list(api(versions).list_repo_tree("org/versions"))
    assert [type(entry) for entry in top] == [RepoFolder, RepoFile]
    assert [entry.path for entry in api(versions).list_repo_tree("org/versions", recursive=True)] == [
        "a",
        "a/deep.json",
        "config.json",
    ]
    assert [entry.path for entry in api(versions).list_repo_tree("org/versions", "a")] == ["a/deep.json"]


def test_a_long_tree_comes_in_pages(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/long", {f"{number:03}.json": "{}" for number in range(25)})
    hub = local_hub(page_size=10)
    listed = [entry.path for entry in api(hub).list_repo_tree("org/long", recursive=True, expand=True)]
    assert listed == [f"{number:03}.json" for number in range(25)]
    assert len(hub.requests) == 3


def test_paths_info_and_existence(versions: LocalHub) -> None:
    found = api(versions).get_paths_info("org/versions", ["config.json", "a", "none"], expand=True)
    assert [entry.path for entry in found] == ["config.json", "a"]
    assert api(versions).file_exists("org/versions", "config.json")
    assert not api(versions).file_exists("org/versions", "none.json")
    assert api(versions).repo_exists("org/versions")
    assert not api(versions).repo_exists("org/none")
    assert api(versions).revision_exists("org/versions", "heavy")
    assert not api(versions).revision_exists("org/versions", "none")


def test_a_model_with_its_blobs(versions: LocalHub) -> None:
    info = api(versions).model_info("org/versions", revision="dev", files_metadata=True)
    assert (info.id, info.author, info.private, info.gated) == ("org/versions", "org", False, False)
    siblings = {sibling.rfilename: sibling for sibling in info.siblings or []}
    assert siblings["config.json"].blob_id == blob_id(b"1")
    assert siblings["weights.bin"].lfs is not None


def test_models_are_listed_to_whom_may_see_them(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/open", {"config.json": "{}"})
    publish("org/private", {"config.json": "{}"}, closed("private"))
    publish("gpt2", {"config.json": "{}"})
    hub = local_hub()
    assert [model.id for model in api(hub).list_models()] == ["gpt2", "org/open"]
    assert [model.id for model in api(hub, "alice").list_models(author="org")] == ["org/open", "org/private"]


def test_a_bare_name_of_old(publish: Publish, local_hub: HubFactory) -> None:
    publish("gpt2", {"config.json": "{}", "onnx/config.json": "{}"})
    hub = local_hub()
    assert api(hub).model_info("gpt2", revision="main").id == "gpt2"
    assert [entry.path for entry in api(hub).list_repo_tree("gpt2", recursive=True)] == [
        "config.json",
        "onnx",
        "onnx/config.json",
    ]
    assert api(hub).file_exists("gpt2", "config.json")


def test_who_am_i(versions: LocalHub) -> None:
    assert api(versions, "alice").whoami()["name"] == "alice"
    with pytest.raises(HfHubHTTPError) as caught:
        api(versions, "hf_wrong").whoami()
    assert caught.value.response.status_code == 401


def test_metadata_of_a_plain_and_of_an_lfs_file(versions: LocalHub, tmp_path: Path) -> None:
    commit = api(versions).model_info("org/versions", revision="dev").sha
    for path, size in (("config.json", 1), ("weights.bin", 11)):
        url = hf_hub_url("org/versions", path, revision="dev", endpoint=versions.url)
        metadata = get_hf_file_metadata(url, token=False)
        assert (metadata.commit_hash, metadata.size) == (commit, size)
        local = hf_hub_download(
            "org/versions", path, revision="dev", endpoint=versions.url, token=False, cache_dir=tmp_path
        )
        assert Path(local).stat().st_size == size
    assert metadata.location.startswith(versions.cdn_url.replace("127.0.0.1", "localhost"))


def test_a_gated_listing_is_masked_without_a_grant(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/gated", {"weights.bin": "weights"}, closed("gated"))
    hub = local_hub()
    for user, masked in (("", True), ("bob", True), ("alice", False)):
        (entry,) = api(hub, user).list_repo_tree("org/gated")
        assert isinstance(entry, RepoFile)
        assert entry.lfs is not None
        assert (entry.lfs.sha256 == "*" * 64) is masked


Call = Callable[[HfApi, str], object]
ASKS: dict[str, Call] = {
    "model_info": lambda api, name: api.model_info(name),
    "list_repo_refs": lambda api, name: api.list_repo_refs(name),
    "list_repo_tree": lambda api, name: list(api.list_repo_tree(name)),
    "auth_check": lambda api, name: api.auth_check(name),
}


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("user", ["", "bob"])
@pytest.mark.parametrize("name", ["org/none", "org/private"])
def test_what_may_not_be_seen_is_not_found(
    name: str, user: str, ask: str, publish: Publish, local_hub: HubFactory
) -> None:
    publish("org/private", {"config.json": "{}"}, closed("private"))
    hub = local_hub()
    with pytest.raises(RepositoryNotFoundError) as caught:
        ASKS[ask](api(hub, user), name)
    assert caught.value.response.status_code == (404 if user else 401)


def test_a_rejected_token_is_silent_on_a_public_repository_and_named_on_others(
    publish: Publish, local_hub: HubFactory
) -> None:
    publish("org/open", {"config.json": "{}"})
    publish("org/private", {"config.json": "{}"}, closed("private"))
    hub = local_hub()
    assert api(hub, "hf_wrong").model_info("org/open").id == "org/open"
    with pytest.raises(HfHubHTTPError, match="Invalid credentials") as caught:
        api(hub, "hf_wrong").model_info("org/private")
    assert not isinstance(caught.value, RepositoryNotFoundError)


@pytest.mark.parametrize(("user", "status"), [("", 401), ("bob", 403)])
def test_gated_contents_are_refused(
    user: str, status: int, publish: Publish, local_hub: HubFactory, tmp_path: Path
) -> None:
    publish("org/gated", {"config.json": "{}"}, closed("gated"))
    hub = local_hub()
    url = hf_hub_url("org/gated", "config.json", endpoint=hub.url)
    with pytest.raises(GatedRepoError) as caught:
        get_hf_file_metadata(url, token=TOKENS.get(user, False))
    assert caught.value.response.status_code == status
    with pytest.raises(GatedRepoError):
        api(hub, user).auth_check("org/gated")
    assert api(hub, user).model_info("org/gated").gated == "manual"


def test_missing_revisions_and_entries(versions: LocalHub) -> None:
    for revision in ("none", "refs/pr/2", "f" * 40, "abcdef0"):
        with pytest.raises(RevisionNotFoundError):
            api(versions).model_info("org/versions", revision=revision)
        with pytest.raises(RevisionNotFoundError):
            list(api(versions).list_repo_tree("org/versions", revision=revision))
    with pytest.raises(EntryNotFoundError):
        list(api(versions).list_repo_tree("org/versions", "none"))
    with pytest.raises(EntryNotFoundError):
        get_hf_file_metadata(hf_hub_url("org/versions", "none", endpoint=versions.url), token=False)


def test_a_real_model_has_the_ids_its_hub_publishes(
    publish: Publish, local_hub: HubFactory, minilm_files: dict[str, Path]
) -> None:
    publish("org/minilm", minilm_files)
    entries = {entry.path: entry for entry in api(local_hub()).list_repo_tree("org/minilm")}
    weights, tokenizer = entries["model.safetensors"], entries["tokenizer.json"]
    assert isinstance(weights, RepoFile)
    assert isinstance(tokenizer, RepoFile)
    assert weights.lfs is not None
    assert weights.size == weights.lfs.size == 90868376
    assert weights.lfs.sha256 == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert (tokenizer.blob_id, tokenizer.lfs) == ("cb202bfe2e3c98645018a6d12f182a434c9d3e02", None)
