"""Owns `gsm verify`: every difference is found and listed, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.integration.cli.conftest import Gsm
from tests.integration.conftest import Content, HubFactory, Publish, write_tree

FILES: dict[str, Content] = {
    "config.json": "{}\n",
    "sub/vocab.txt": "a\nb\n",
    "model.bin": bytes(range(256)) * 400,
    ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "got", FILES)


@pytest.fixture
def manifest(gsm: Gsm, folder: Path, tmp_path: Path) -> Path:
    saved = tmp_path / "m.manifest"
    saved.write_text(gsm("digest", folder, "-o", "manifest").out)
    return saved


def test_a_whole_folder_passes_by_reference_digest_and_manifest(
    gsm: Gsm, local_hub: HubFactory, publish: Publish, folder: Path, manifest: Path
) -> None:
    publish("team/m", FILES)
    hub = local_hub()
    digest = gsm("digest", folder, "-q").out.strip()
    for wanted in (["team/m"], ["--digest", digest], ["--manifest", manifest]):
        ran = gsm("verify", folder, *wanted, hub=hub)
        assert ran.status == 0, ran.err
        assert ran.out.startswith("passed")
        assert f"every byte matches: 4 files, 102449 (100.0 KiB), {digest}" in ran.out


def test_everything_that_is_wrong_is_listed(gsm: Gsm, folder: Path, manifest: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "extra.txt").write_text("new")
    (folder / "sub" / "vocab.txt").write_text("a\n")
    data = bytearray((folder / "model.bin").read_bytes())
    data[70_000] ^= 1
    (folder / "model.bin").write_bytes(data)
    ran = gsm("verify", folder, "--manifest", manifest, "-o", "json")
    assert (ran.status, ran.json["passed"], ran.json["quick"]) == (1, False, False)
    assert [(each["path"], each["problem"]) for each in ran.json["findings"]] == [
        ("config.json", "missing"),
        ("extra.txt", "extra"),
        ("model.bin", "wrong content"),
        ("sub/vocab.txt", "wrong size"),
    ]
    assert ran.json["findings"][3] == {"path": "sub/vocab.txt", "problem": "wrong size", "expected": "4", "found": "2"}
    assert "1 missing, 1 extra, 1 wrong size, 1 wrong content" in ran.err

    table = gsm("verify", folder, "--manifest", manifest)
    assert [line.split("  ")[0] for line in table.out.splitlines()[1:]] == [
        "missing",
        "extra",
        "wrong content",
        "wrong size",
    ]
    junit = ElementTree.fromstring(gsm("verify", folder, "--manifest", manifest, "-o", "junit").out)
    assert junit[0].get("failures") == "4"


def test_quick_says_what_it_did_not_look_at(gsm: Gsm, folder: Path, manifest: Path) -> None:
    data = bytearray((folder / "model.bin").read_bytes())
    data[0] ^= 0x80
    (folder / "model.bin").write_bytes(data)
    quick = gsm("verify", folder, "--manifest", manifest, "--quick")
    assert quick.status == 0
    assert "names and sizes match" in quick.out
    assert "a changed byte would not be seen" in quick.err
    assert gsm("verify", folder, "--manifest", manifest, "--quick", "-o", "json").json["quick"] is True
    assert gsm("verify", folder, "--manifest", manifest).status == 1
    (folder / "config.json").unlink()
    assert gsm("verify", folder, "--manifest", manifest, "--quick").status == 1


def test_a_digest_alone_says_that_something_differs(gsm: Gsm, folder: Path) -> None:
    digest = gsm("digest", folder, "-q").out.strip()
    (folder / "config.json").write_text("[]\n")
    ran = gsm("verify", folder, "--digest", digest)
    assert ran.status == 1
    assert digest in ran.err
    assert "--manifest" in ran.err


def test_patterns_hold_for_both_sides(gsm: Gsm, folder: Path, manifest: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    (folder / "sub" / "vocab.txt").unlink()
    patterns = ("--allow", "*.bin", "--allow", "*.json")
    assert gsm("verify", folder, "--manifest", manifest, *patterns).status == 0
    (folder / "config.json").unlink()
    assert gsm("verify", folder, "--manifest", manifest, *patterns).status == 1


def test_a_tracked_file_that_looks_like_bookkeeping_is_read(gsm: Gsm, folder: Path, tmp_path: Path) -> None:
    (folder / ".mdl").write_text("x")
    saved = tmp_path / "with.manifest"
    named = "gitsha1:c1b0730e0133aa0e0d86fad0c1c5dd6c8a1c3fc3 1 .mdl\n"
    lines = gsm("digest", folder, "-o", "manifest").out.splitlines(keepends=True)
    saved.write_text("".join([*lines[:2], named, *lines[2:]]))
    ran = gsm("verify", folder, "--manifest", saved, "-o", "json")
    assert [(each["path"], each["problem"]) for each in ran.json["findings"]] == [(".mdl", "wrong content")]


ARTIFACT = """\
apiVersion: worker.gpustack.ai/v1
kind: ModelArtifact
metadata: {name: %s}
spec:
  source: {huggingFace: {repository: team/m}}
%s"""


def test_the_check_for_ci(gsm: Gsm, local_hub: HubFactory, publish: Publish, tmp_path: Path) -> None:
    folder = publish("team/m", FILES)
    hub = local_hub()
    digest = gsm("digest", "team/m", "-q", hub=hub).out.strip()
    file = tmp_path / "models.yaml"
    file.write_text(ARTIFACT % ("pinned", f"  expectedDigest: {digest}\n") + "---\n" + ARTIFACT % ("loose", ""))
    ran = gsm("verify", "-f", file, "-o", "github", hub=hub)
    assert (ran.status, ran.out) == (0, "1 passed, 1 skipped\n")

    (folder / "config.json").write_text("moved\n")
    hub.rescan()
    ran = gsm("verify", "-f", file, "-o", "github", hub=hub)
    assert ran.status == 18
    assert ran.out.startswith(f"::error file={file},line=1,title=DigestMismatch::{file}:1 pinned: ")
    assert f"error: {file}:1 pinned: hf://" in ran.err
    assert "gsm resolve -f FILE --write" in ran.err
    junit = ElementTree.fromstring(gsm("verify", "-f", file, "-o", "junit", hub=hub).out)
    assert [case.get("name") for case in junit[0]] == [f"{file}:1 pinned", f"{file}:8 loose"]
    assert [[child.tag for child in case] for case in junit[0]] == [["failure"], ["skipped"]]
    checks = gsm("verify", "-f", file, "none.yaml", "-o", "json", hub=hub)
    assert checks.status == 18
    assert [(check["outcome"], check.get("reason")) for check in checks.json] == [
        ("failed", "DigestMismatch"),
        ("skipped", None),
        ("failed", "NotFound"),
    ]


def test_a_check_of_nothing_says_so(gsm: Gsm, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("kind: ConfigMap\n")
    ran = gsm("verify", "-f", tmp_path / "x.yaml", "-o", "json")
    assert (ran.status, json.loads(ran.out)) == (0, [])
    assert "nothing was checked" in ran.err


USAGE = {
    "nothing": ((), "nothing to verify was named"),
    "a-folder-alone": (("x",), "compared with one thing"),
    "the-wrong-way-round": (("hf://a/b", "x"), "the folder comes first"),
    "two-things": (("x", "a/b", "--manifest", "m"), "compared with one thing"),
    "quick-with-a-digest": (("x", "--digest", "sha256:" + "0" * 64, "--quick"), "says nothing of sizes"),
    "like-with-a-reference": (("x", "a/b", "--sha256"), "go with --digest"),
    "a-file-and-quick": (("-f", "x.yaml", "--quick"), "do not go with it"),
    "a-claim": (("x", "pvc://models"), "has no manifest"),
}


@pytest.mark.parametrize(("arguments", "words"), USAGE.values(), ids=USAGE.keys())
def test_usage(gsm: Gsm, arguments: tuple[str, ...], words: str) -> None:
    ran = gsm("verify", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert words in ran.err


def test_a_folder_that_is_not_there(gsm: Gsm, manifest: Path, tmp_path: Path) -> None:
    ran = gsm("verify", tmp_path / "none", "--manifest", manifest)
    assert (ran.status, f"{tmp_path / 'none'} does not exist" in ran.err) == (30, True)
