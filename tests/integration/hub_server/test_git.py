"""Owns that real git reads the local hub's refs, and that nothing but git does."""

from __future__ import annotations

import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gpustack_models.hub_server import LocalHub
from tests.integration.conftest import TOKENS, HubFactory, Publish
from tests.integration.hub_server.clients import HTTP, environment
from tests.integration.hub_server.shapes import VERSIONED, VERSIONS, closed


def git(home: Path, hub: LocalHub, *arguments: str) -> subprocess.CompletedProcess[str]:
    known = {**environment(hub, home), "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *arguments], env=known, capture_output=True, text=True, timeout=60, check=False)


def test_ls_remote_shows_every_ref_and_what_a_tag_means(
    publish: Publish, local_hub: HubFactory, tmp_path: Path
) -> None:
    publish("org/versions", VERSIONS, VERSIONED)
    hub = local_hub()
    done = git(tmp_path, hub, "ls-remote", "--symref", f"{hub.url}/org/versions.git")
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    refs = {name: commit for commit, name in lines}
    assert lines[0] == ["ref: refs/heads/master", "HEAD"]
    assert list(refs) == [
        "HEAD",
        "refs/heads/dev",
        "refs/heads/master",
        "refs/tags/heavy",
        "refs/tags/heavy^{}",
        "refs/tags/light",
    ]
    assert refs["HEAD"] == refs["refs/heads/master"] != refs["refs/heads/dev"]
    assert refs["refs/tags/heavy^{}"] == refs["refs/tags/light"] == refs["refs/heads/dev"]
    assert refs["refs/tags/heavy"] not in {refs["refs/heads/dev"], refs["refs/heads/master"]}


@pytest.mark.parametrize(
    ("credentials", "status"),
    [("", 128), (f"oauth2:{TOKENS['alice']}@", 0), (f"oauth2:{TOKENS['bob']}@", 128), ("oauth2:wrong@", 128)],
    ids=["nobody", "reader", "other", "rejected"],
)
def test_a_private_repository_takes_the_token_as_a_password(
    credentials: str, status: int, publish: Publish, local_hub: HubFactory, tmp_path: Path
) -> None:
    publish("org/private", {"config.json": "{}"}, closed("private"))
    hub = local_hub()
    done = git(tmp_path, hub, "ls-remote", f"http://{credentials}{urlsplit(hub.url).netloc}/org/private.git")
    assert done.returncode == status, done.stderr
    assert ("refs/heads/master" in done.stdout) is (status == 0)


def test_an_empty_repository_has_refs_too(publish: Publish, local_hub: HubFactory, tmp_path: Path) -> None:
    (publish("org/empty", {}) / "folder").mkdir(parents=True)
    hub = local_hub()
    assert "refs/heads/master" in git(tmp_path, hub, "ls-remote", f"{hub.url}/org/empty.git").stdout


def test_other_programs_are_misdirected(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/open", {"config.json": "{}"})
    hub = local_hub()
    url = f"{hub.url}/org/open.git/info/refs?service=git-upload-pack"
    assert HTTP.get(url).status_code == 421
    assert HTTP.get(url, headers={"User-Agent": "git/2.39.5"}).status_code == 200


def test_a_clone_is_refused_with_the_way_to_go(publish: Publish, local_hub: HubFactory, tmp_path: Path) -> None:
    publish("org/open", {"config.json": "{}"})
    hub = local_hub()
    done = git(tmp_path, hub, "clone", f"{hub.url}/org/open.git", str(tmp_path / "clone"))
    assert done.returncode == 128
    assert "remote error: the local hub gives no packs: download with hf, modelscope or gsm" in done.stderr
    assert not (tmp_path / "clone").exists()


def test_ids_are_gits_own(publish: Publish, local_hub: HubFactory, tmp_path: Path) -> None:
    files = {"config.json": "{}", "a/b/c.txt": "c", "a.b/x": "x", "a-b": "y", "empty": ""}
    folder = publish("org/model", files)
    hub = local_hub()
    moment = "1704153600 +0000"
    known = {f"GIT_{who}_NAME": "local hub" for who in ("AUTHOR", "COMMITTER")}
    known |= {f"GIT_{who}_EMAIL": "hub@localhost" for who in ("AUTHOR", "COMMITTER")}
    known |= {f"GIT_{who}_DATE": moment for who in ("AUTHOR", "COMMITTER")}
    known |= {**environment(hub, tmp_path), "GIT_DIR": str(tmp_path / "git"), "GIT_WORK_TREE": str(folder)}

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], env=known, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "--quiet")
    git("add", ".")
    tree = git("write-tree")
    listed = HTTP.get(f"{hub.url}/api/models/org/model/tree/main?recursive=true").json()
    assert {entry["path"]: entry["oid"] for entry in listed} == {
        entry["path"]: git("rev-parse", f"{tree}:{entry['path']}") for entry in listed
    }
    assert HTTP.get(f"{hub.url}/api/models/org/model").json()["sha"] == git(
        "commit-tree", tree, "-m", "Files of a folder"
    )
