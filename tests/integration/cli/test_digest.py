"""Owns `gsm digest`: the vectors, what tells a file's algorithm on a real disk, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Gsm
from tests.integration.conftest import Content, HubFactory, Publish, write_tree

VECTORS = Path(__file__).parents[2] / "vectors"
TREE = VECTORS / "hf-qwen2.5-0.5b-instruct.tree.json"
WHOLE = "sha256:669ed7b128b6ad1658d735326bd172a33497ecdb8bbd72dd0b23c98b58469448"
FILTERED = "sha256:0ad6708d42047a2354979bf99d11a6ca7a82522a1fcfb0230c729057255dbc03"
PATTERNS = ("--allow", "*.safetensors", "--allow", "*.json", "--allow", "tokenizer*", "--ignore", "original/")

FILES: dict[str, Content] = {
    "config.json": "{}\n",
    "model.bin": b"\x01" * 70_000,
    ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
}


def test_the_vectors(gsm: Gsm) -> None:
    ran = gsm("digest", "--hub-tree", TREE)
    assert (ran.status, ran.out) == (0, f"{WHOLE}\n")
    assert "10 files, 999604126 (953.3 MiB)" in ran.err
    ran = gsm("digest", "--hub-tree", "-", *PATTERNS, "-o", "json", stdin=TREE.read_bytes())
    assert ran.json == [{"target": "-", "digest": FILTERED, "fileCount": 6, "sizeBytes": 997914508}]


def test_a_saved_listing_of_modelscope(gsm: Gsm, tmp_path: Path) -> None:
    listed = [{"Type": "tree", "Path": "d"}, {"Type": "blob", "Path": "d/a", "Size": 3, "Sha256": "a" * 64}]
    saved = tmp_path / "files.json"
    saved.write_text(json.dumps({"Code": 200, "Data": {"Files": listed}}))
    ran = gsm("digest", "--hub-tree", saved, "-o", "manifest")
    assert ran.out == f"gpustack-manifest v1\nsha256:{'a' * 64} 3 d/a\n"
    saved.write_text(json.dumps({"Data": {"Files": listed * 1500}}))
    cut = gsm("digest", "--hub-tree", saved)
    assert (cut.status, "cut it off" in cut.err) == (2, True)


def test_what_is_no_listing_is_refused(gsm: Gsm, tmp_path: Path) -> None:
    for content in ("hello", "[{]", "{}", "[{}]", "", '{"a":' * 20_000, "[" * 20_000):
        (tmp_path / "x").write_text(content)
        ran = gsm("digest", "--hub-tree", tmp_path / "x")
        assert (ran.status, ran.out) == (2, ""), content[:20]


def test_the_clients_bookkeeping_is_left_out_and_a_folder_s_name_says_nothing(gsm: Gsm, tmp_path: Path) -> None:
    write_tree(tmp_path / "one", FILES)
    clutter = {".git/config": "x", ".cache/huggingface/CACHEDIR.TAG": "x", "._____temp/half": "x", ".mdl": "x"}
    write_tree(tmp_path / "other", {**FILES, **clutter})
    ran = gsm("digest", tmp_path / "one", tmp_path / "other", "file://" + str(tmp_path / "one"))
    assert ran.status == 0
    assert len(ran.out.split()) == 3
    assert len(set(ran.out.split())) == 1
    (tmp_path / "other" / "config.json").write_text("{} \n")
    assert gsm("digest", "-q", tmp_path / "other").out.strip() != ran.out.split()[0]


def test_a_mistyped_folder_is_no_silent_reference(gsm: Gsm, local_hub: HubFactory, tmp_path: Path) -> None:
    ran = gsm("digest", "modle", hub=local_hub(), cwd=tmp_path)
    assert ran.status == 11
    assert "there is no folder 'modle' here either" in ran.err


def test_when_nothing_tells_the_choices_are_shown(gsm: Gsm, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "plain", {"a": "1", "b": "2"})
    ran = gsm("digest", folder)
    assert (ran.status, ran.out) == (2, "")
    assert "--like REF|FILE" in ran.err
    assert "--sha256" in ran.err
    sums = gsm("digest", folder, "--sha256", "-o", "manifest").out
    assert [line.split()[0].partition(":")[0] for line in sums.splitlines()[1:]] == ["sha256", "sha256"]
    assert gsm("digest", folder, "--sha256", "--like", "a/b").status == 2


def test_like_a_reference_and_like_a_file(gsm: Gsm, local_hub: HubFactory, publish: Publish, tmp_path: Path) -> None:
    publish("team/m", FILES)
    hub = local_hub()
    folder = write_tree(tmp_path / "copy", {name: FILES[name] for name in ("config.json", "model.bin")})
    wanted = gsm("digest", "team/m", "--ignore", ".git*", "-q", hub=hub).out
    assert gsm("digest", folder, "--like", "team/m", "-q", hub=hub).out == wanted
    saved = tmp_path / "m.manifest"
    saved.write_text(gsm("digest", "team/m", "-o", "manifest", hub=hub).out)
    assert gsm("digest", folder, "--like", saved, "-q").out == wanted
    (folder / "new").write_text("x")
    ran = gsm("digest", folder, "--like", saved)
    assert (ran.status, "'new'" in ran.err) == (2, True)


def test_an_existing_folder_wins_over_a_reference(
    gsm: Gsm, local_hub: HubFactory, publish: Publish, tmp_path: Path
) -> None:
    publish("team/m", FILES)
    write_tree(tmp_path / "team" / "m", {**FILES, "config.json": "local\n"})
    hub = local_hub()
    here = gsm("digest", "team/m", "-q", hub=hub, cwd=tmp_path).out
    assert hub.requests == []
    there = gsm("digest", "team/m", "-q", hub=hub, cwd=tmp_path / "team").out
    assert hub.requests != []
    assert len({here, there, ""}) == 3


def test_an_empty_folder_has_no_manifest(gsm: Gsm, tmp_path: Path) -> None:
    assert gsm("digest", write_tree(tmp_path / "m", {".git/HEAD": "x"})).status == 15
    assert gsm("digest", write_tree(tmp_path / "m", FILES), "--allow", "*.gguf").status == 15


def test_a_cache_of_many_commits_names_one_of_them(gsm: Gsm, tmp_path: Path) -> None:
    cache = write_tree(tmp_path / "models--a--b", {"blobs/" + "a" * 64: "x", "refs/main": "c0ffee"})
    (cache / "snapshots" / "c0ffee").mkdir(parents=True)
    (cache / "snapshots" / "c0ffee" / "a.bin").symlink_to("../../blobs/" + "a" * 64)
    ran = gsm("digest", cache)
    assert (ran.status, ran.out) == (2, "")
    assert f"name one of them: {cache / 'snapshots' / 'c0ffee'}" in ran.err
    one = gsm("digest", cache / "snapshots" / "c0ffee", "-o", "manifest")
    assert one.out.splitlines()[1].startswith("sha256:2d711642")


def test_modelscope_s_mark_wins_over_attributes(gsm: Gsm, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "m", {**FILES, ".msc": b"\x80"})
    lines = gsm("digest", folder, "-o", "manifest").out.splitlines()[1:]
    assert [line.split()[2] for line in lines] == [".gitattributes", "config.json", "model.bin"]
    assert all(line.startswith("sha256:") for line in lines)


LINKS = {
    "out-of-the-folder": ("../outside", 2, "leads out of the folder"),
    "to-nothing": ("nowhere", 30, "does not exist"),
    "to-itself": ("link", 34, "cannot be read"),
    "to-a-folder": ("sub", 2, "not a file"),
    "inside-the-folder": ("config.json", 0, ""),
}


@pytest.mark.parametrize(("target", "status", "words"), LINKS.values(), ids=LINKS.keys())
def test_links(gsm: Gsm, target: str, status: int, words: str, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "m", {**FILES, "sub/x": "1"})
    (tmp_path / "outside").write_text("secret")
    (folder / "link").symlink_to(target)
    ran = gsm("digest", folder)
    assert ran.status == status
    assert words in ran.err


def test_what_is_neither_file_nor_folder_is_refused_at_once(gsm: Gsm, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "m", FILES)
    os.mkfifo(folder / "pipe")
    ran = gsm("digest", folder)
    assert (ran.status, "neither a file nor a folder" in ran.err) == (2, True)


def test_a_pointer_is_not_its_content(gsm: Gsm, tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12\n"
    folder = write_tree(tmp_path / "m", {**FILES, "model.bin": pointer})
    for more in ((), ("--sha256",)):
        ran = gsm("digest", folder, *more)
        assert (ran.status, ran.out) == (2, "")
        assert "git lfs pull" in ran.err


def test_a_name_that_a_manifest_cannot_hold_is_refused(gsm: Gsm, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "m", {**FILES, "new\nline": "x"})
    ran = gsm("digest", folder)
    assert (ran.status, ran.out) == (16, "")
    assert r"new\nline" in ran.err


def test_one_bad_target_does_not_hide_the_others(gsm: Gsm, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "m", FILES)
    ran = gsm("digest", tmp_path / "none", folder, "-o", "json")
    assert ran.status == 30
    assert [result["target"] for result in ran.json] == [str(tmp_path / "none"), str(folder)]
    assert ran.json[0]["error"]["reason"] == "NotFound"
    assert ran.json[1]["algorithmsBy"].startswith("the LFS rules of .gitattributes")
