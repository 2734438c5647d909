"""Owns that the hubs' own clients download from the local hub, whole, and that what they write is what was served."""

from __future__ import annotations

import filecmp
from pathlib import Path

import pytest

from tests.integration.conftest import TOKENS, HubFactory, Publish
from tests.integration.hub_server.clients import environment, run

VERSIONS = """
commits:
  - {name: old, folder: v1}
  - {name: new, folder: v2, message: Second}
branches: {main: new, dev: old}
tags: {light: old, heavy: {commit: old, message: Annotated}}
pull_requests: {1: old}
"""


def same(left: Path, right: Path) -> bool:
    names = sorted(path.relative_to(left).as_posix() for path in left.rglob("*") if path.is_file())
    return filecmp.cmpfiles(left, right, names, shallow=False) == (names, [], [])


@pytest.mark.parametrize(
    ("program", "arguments"),
    [("hf", ("download", "--local-dir")), ("modelscope", ("download", "--local_dir"))],
    ids=["hf", "modelscope"],
)
def test_the_model_arrives_whole(
    program: str,
    arguments: tuple[str, str],
    publish: Publish,
    local_hub: HubFactory,
    minilm: Path,
    minilm_files: dict[str, Path],
    tmp_path: Path,
) -> None:
    publish("org/minilm", minilm_files)
    hub = local_hub()
    verb, where = arguments
    done = run(environment(hub, tmp_path), program, verb, "org/minilm", where, str(tmp_path / "got"))
    assert done.returncode == 0, done.stderr
    assert same(minilm, tmp_path / "got")
    assert [request.sent for request in hub.requests if request.origin == "cdn"] == [90868376]


@pytest.mark.parametrize(
    ("revision", "expected"), [("main", "2"), ("dev", "1"), ("light", "1"), ("heavy", "1"), ("refs/pr/1", "1")]
)
def test_hf_downloads_any_revision(
    revision: str, expected: str, publish: Publish, local_hub: HubFactory, tmp_path: Path
) -> None:
    publish("org/versions", {"v1/config.json": "1", "v2/config.json": "2"}, VERSIONS)
    hub = local_hub()
    got = tmp_path / "got"
    asked = ("download", "org/versions", "--revision", revision, "--local-dir", str(got))
    done = run(environment(hub, tmp_path), "hf", *asked)
    assert done.returncode == 0, done.stderr
    assert (got / "config.json").read_text() == expected


@pytest.mark.parametrize("access", ["private", "gated"])
@pytest.mark.parametrize(("user", "status"), [("alice", 0), ("bob", 1), ("", 1)], ids=["reader", "other", "nobody"])
@pytest.mark.parametrize("program", ["hf", "modelscope"])
def test_only_readers_download(
    program: str, user: str, status: int, access: str, publish: Publish, local_hub: HubFactory, tmp_path: Path
) -> None:
    publish("org/closed", {"config.json": "{}"}, f"access: {access}\nreaders: alice\n")
    hub = local_hub()
    token = TOKENS.get(user, "")
    done = run(environment(hub, tmp_path, token), program, "download", "org/closed")
    assert done.returncode == status, done.stderr
    assert any(request.authorized for request in hub.requests) == bool(user)
