"""Owns that the hubs' own clients download from the local hub, whole, and that what they write is what was served."""

from __future__ import annotations

import filecmp
from pathlib import Path

import pytest

from tests.integration.conftest import TOKENS, HubFactory, Publish
from tests.integration.hub_server.clients import environment, run
from tests.integration.hub_server.shapes import VERSIONED, VERSIONS, closed

#: A commit's id depends on its files, its message and its place: so it is this one on every machine.
OLD_COMMIT = "fa32eadcd81b743c79c9051967292fc924b6250d"


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


#: The program, what it is asked beside the repository, and the files that it writes with their contents.
ASKED: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "hf, a branch": ("hf", ("--revision", "dev"), {"config.json": "1", "weights.bin": "old weights"}),
    "hf, the default branch": ("hf", (), {"config.json": "2", "a/deep.json": "{}"}),
    "hf, a tag": ("hf", ("--revision", "light"), {"config.json": "1", "weights.bin": "old weights"}),
    "hf, an annotated tag": ("hf", ("--revision", "heavy"), {"config.json": "1", "weights.bin": "old weights"}),
    "hf, a pull request": ("hf", ("--revision", "refs/pr/1"), {"config.json": "1", "weights.bin": "old weights"}),
    "hf, a commit": ("hf", ("--revision", OLD_COMMIT), {"config.json": "1", "weights.bin": "old weights"}),
    "hf, a short commit": ("hf", ("--revision", OLD_COMMIT[:8]), {"config.json": "1", "weights.bin": "old weights"}),
    "hf, some files": ("hf", ("--include", "a/*"), {"a/deep.json": "{}"}),
    "hf, but some files": ("hf", ("--exclude", "a/*"), {"config.json": "2"}),
    "hf, one file": ("hf", ("a/deep.json",), {"a/deep.json": "{}"}),
    "modelscope, a branch": ("modelscope", ("--revision", "dev"), {"config.json": "1", "weights.bin": "old weights"}),
    "modelscope, the default branch": ("modelscope", (), {"config.json": "2", "a/deep.json": "{}"}),
    "modelscope, a tag": ("modelscope", ("--revision", "heavy"), {"config.json": "1", "weights.bin": "old weights"}),
    "modelscope, a commit": (
        "modelscope",
        ("--revision", OLD_COMMIT),
        {"config.json": "1", "weights.bin": "old weights"},
    ),
    "modelscope, some files": ("modelscope", ("--include", "a/*"), {"a/deep.json": "{}"}),
    "modelscope, one file": ("modelscope", ("a/deep.json",), {"a/deep.json": "{}"}),
}


@pytest.mark.parametrize("name", ASKED)
def test_any_part_of_any_revision(name: str, publish: Publish, local_hub: HubFactory, tmp_path: Path) -> None:
    publish("org/versions", VERSIONS, VERSIONED)
    program, asked, expected = ASKED[name]
    got = tmp_path / "got"
    done = run(environment(local_hub(), tmp_path), program, "download", "org/versions", *asked, "--local-dir", str(got))
    assert done.returncode == 0, done.stderr
    written = {path.relative_to(got).as_posix(): path for path in got.rglob("*") if path.is_file()}
    contents = {path: file.read_text() for path, file in written.items() if not path.startswith(".")}
    assert contents == expected


#: The program, what it is asked, and what it says.
REFUSED = {
    "hf, no such revision": ("hf", ("org/versions", "--revision", "none"), "Revision"),
    "hf, no such repository": ("hf", ("org/none",), "not found"),
    "hf, no such file": ("hf", ("org/versions", "none.json"), "none.json"),
    "hf, gated": ("hf", ("org/gated",), "gated"),
    "modelscope, no such revision": ("modelscope", ("org/versions", "--revision", "none"), "no file tree at none"),
    "modelscope, no such repository": ("modelscope", ("org/none",), "model org/none not found"),
    "modelscope, no such file": ("modelscope", ("org/versions", "none.json"), "no file 'none.json'"),
    "modelscope, gated": ("modelscope", ("org/gated",), "no access to model org/gated"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_client_says_when_refused(name: str, publish: Publish, local_hub: HubFactory, tmp_path: Path) -> None:
    publish("org/versions", VERSIONS, VERSIONED)
    publish("org/gated", {"config.json": "{}"}, closed("gated"))
    program, asked, said = REFUSED[name]
    done = run(environment(local_hub(), tmp_path), program, "download", *asked)
    assert done.returncode == 1
    assert said in done.stdout + done.stderr


@pytest.mark.parametrize("access", ["private", "gated"])
@pytest.mark.parametrize(("user", "status"), [("alice", 0), ("bob", 1), ("", 1)], ids=["reader", "other", "nobody"])
@pytest.mark.parametrize("program", ["hf", "modelscope"])
def test_only_readers_download(
    program: str, user: str, status: int, access: str, publish: Publish, local_hub: HubFactory, tmp_path: Path
) -> None:
    publish("org/closed", {"config.json": "{}"}, closed(access))
    hub = local_hub()
    token = TOKENS.get(user, "")
    done = run(environment(hub, tmp_path, token), program, "download", "org/closed")
    assert done.returncode == status, done.stderr
    assert any(request.authorized for request in hub.requests) == bool(user)
