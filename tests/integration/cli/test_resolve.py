"""Owns `gsm resolve`: every format, files of artifacts, writing back, several at once."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
import yaml

from gpustack_models.core.manifest import Manifest
from tests.integration.cli.conftest import Gsm
from tests.integration.conftest import HubFactory, Publish

REPOSITORY = {
    "config.json": "{}\n",
    "tokenizer.json": "[]\n",
    "model.safetensors": b"\x01" * 5000,
    "original/model.bin": b"\x02" * 100,
    ".gitattributes": "*.safetensors filter=lfs diff=lfs merge=lfs -text\n*.bin filter=lfs\n",
}
COMMIT = re.compile(r"[0-9a-f]{40}")
NO_SUCH = "sha256:" + "0" * 64


@pytest.fixture
def qwen(publish: Publish) -> None:
    publish("team/qwen", REPOSITORY)


def test_the_fields_of_one_reference(gsm: Gsm, local_hub: HubFactory, qwen: None) -> None:
    ran = gsm("resolve", "team/qwen", hub=local_hub())
    assert (ran.status, ran.err) == (0, "")
    fields = dict(line.split(maxsplit=1) for line in ran.out.splitlines())
    assert list(fields) == ["reference", "commit", "digest", "files", "size", "access"]
    assert fields["reference"] == "hf://team/qwen@main"
    assert COMMIT.fullmatch(fields["commit"])
    assert fields["files"] == "5"
    assert fields["access"] == "readable without a token"


def test_a_manifest_is_the_bytes_that_the_digest_names(gsm: Gsm, local_hub: HubFactory, qwen: None) -> None:
    hub = local_hub()
    (shown,) = gsm("resolve", "team/qwen", "-o", "json", "--files", hub=hub).json
    manifest = Manifest.parse(gsm("resolve", "team/qwen", "-o", "manifest", hub=hub).out.encode())
    assert manifest.digest == shown["digest"]
    assert [entry.path for entry in manifest.entries] == [file["path"] for file in shown["files"]]
    assert (manifest.file_count, manifest.size) == (shown["fileCount"], shown["sizeBytes"])
    assert [str(entry.digest) for entry in manifest.entries] == [file["digest"] for file in shown["files"]]


def test_several_at_once_keep_their_order_and_the_first_failure_s_status(
    gsm: Gsm, local_hub: HubFactory, qwen: None
) -> None:
    hub = local_hub()
    asked = ["team/none", "team/qwen", "team/qwen@nope", "ms://team/qwen", "pvc://models/qwen", "a/b/c"]
    ran = gsm("resolve", *asked, "-o", "json", hub=hub)
    assert ran.status == 11
    assert [item.get("error", {}).get("reason", item.get("source")) for item in ran.json] == [
        "AccessDenied",
        "huggingFace",
        "RevisionNotFound",
        "modelScope",
        "persistentVolumeClaim",
        "InvalidReference",
    ]
    errors = [line for line in ran.err.splitlines() if line.startswith("error:")]
    assert len(errors) == 3
    for named, error in zip(("hf://team/none@main:", "hf://team/qwen@nope:", "a/b/c"), errors, strict=True):
        assert named in error
    table = gsm("resolve", *asked, hub=hub)
    assert table.status == 11
    assert [line.split()[0] for line in table.out.splitlines()] == [
        "REFERENCE",
        "hf://team/qwen@main",
        "ms://team/qwen@master",
        "pvc://models/qwen",
    ]


def test_names_can_be_used_as_references(gsm: Gsm, local_hub: HubFactory, qwen: None) -> None:
    hub = local_hub()
    names = gsm("resolve", "team/qwen", "ms://team/qwen", "-o", "name", hub=hub).out.split()
    assert [name.partition("@")[0] for name in names] == ["hf://team/qwen", "ms://team/qwen"]
    assert gsm("resolve", *names, "-o", "name", hub=hub).out.split() == names


def test_patterns(gsm: Gsm, local_hub: HubFactory, qwen: None) -> None:
    hub = local_hub()
    kept = gsm("resolve", "team/qwen", "--allow", "*.json", "--allow", "original/", "--ignore", "tok*", "--files",
               "-o", "json", hub=hub)  # fmt: skip
    assert [file["path"] for file in kept.json[0]["files"]] == ["config.json", "original/model.bin"]
    none = gsm("resolve", "team/qwen", "--allow", "*.gguf", hub=hub)
    assert (none.status, none.out) == (15, "")
    many = gsm("resolve", "team/qwen", *(word for n in range(33) for word in ("--allow", str(n))), hub=hub)
    assert many.status == 2
    assert "33 patterns; at most 32" in many.err


def test_expect(gsm: Gsm, local_hub: HubFactory, qwen: None) -> None:
    hub = local_hub()
    digest = gsm("resolve", "team/qwen", "-o", "json", hub=hub).json[0]["digest"]
    assert gsm("resolve", "team/qwen", "--expect", digest, hub=hub).status == 0
    ran = gsm("resolve", "team/qwen", "--expect", NO_SUCH, hub=hub)
    assert (ran.status, ran.out) == (18, "")
    assert digest in ran.err
    assert NO_SUCH in ran.err


ARTIFACTS = """\
# What team-a serves.
apiVersion: worker.gpustack.ai/v1
kind: ModelArtifact
metadata:
  name: qwen   # the small one
  namespace: team-a
spec:
  source:
    huggingFace:
      repository: team/qwen
      revision: main   # follow it by hand
      secretRef: {name: hf-token}
  ignorePatterns: ["original/"]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: untouched}
data: {text:    "kept  as   it is"}
---
apiVersion: worker.gpustack.ai/v1
kind: ModelArtifact
metadata: {name: scope}
spec:
  source:
    modelScope:
      repository: team/qwen
"""


def test_files_of_artifacts(gsm: Gsm, local_hub: HubFactory, qwen: None, tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    file.write_text(ARTIFACTS)
    ran = gsm("resolve", "-f", file, "-o", "json", "--files", hub=local_hub())
    assert (ran.status, ran.err) == (0, "")
    first, second = ran.json
    assert first["artifact"] == {"file": str(file), "line": 2, "namespace": "team-a", "name": "qwen"}
    assert "original/model.bin" not in [entry["path"] for entry in first["files"]]
    assert (second["source"], second["revision"]) == ("modelScope", "master")
    assert file.read_text() == ARTIFACTS


def test_write_pins_in_place(gsm: Gsm, local_hub: HubFactory, qwen: None, tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    file.write_text(ARTIFACTS)
    file.chmod(0o640)
    hub = local_hub()
    ran = gsm("resolve", "-f", file, "--write", "-o", "json", hub=hub)
    assert (ran.status, ran.err) == (0, f"{file}: 2 pinned\n")
    first, second = ran.json
    text = file.read_text()
    assert text.splitlines() == [
        *ARTIFACTS.splitlines()[:10],
        f"      revision: {first['commit']}   # follow it by hand",
        *ARTIFACTS.splitlines()[11:13],
        f"  expectedDigest: {first['digest']}",
        *ARTIFACTS.splitlines()[13:],
        f"      revision: {second['commit']}",
        f"  expectedDigest: {second['digest']}",
    ]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(tmp_path.glob(".models*")) == []

    again = gsm("resolve", "-f", file, "--write", "-o", "name", hub=hub)
    assert (again.status, again.err) == (0, f"{file}: nothing to change\n")
    assert again.out.split() == [first["pinned"], second["pinned"]]
    assert file.read_text() == text
    assert gsm("verify", "-f", file, hub=hub).status == 0


def test_write_leaves_a_file_alone_when_not_everything_resolves(
    gsm: Gsm, local_hub: HubFactory, qwen: None, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(ARTIFACTS)
    bad.write_text(ARTIFACTS.replace("repository: team/qwen\n      revision", "repository: team/none\n      revision"))
    before = bad.read_text()
    ran = gsm("resolve", "-f", bad, "-f", good, "--write", hub=local_hub())
    assert ran.status == 11
    assert bad.read_text() == before
    assert "expectedDigest" in good.read_text()
    assert f"warning: {bad} was left as it is" in ran.err


def test_what_comes_from_files_is_named_by_its_place(
    gsm: Gsm, local_hub: HubFactory, qwen: None, tmp_path: Path
) -> None:
    file = tmp_path / "models.yaml"
    file.write_text(ARTIFACTS.replace("repository: team/qwen\n      revision", "repository: team/none\n      revision"))
    hub = local_hub()
    ran = gsm("resolve", "-f", file, "-o", "json", hub=hub)
    failed = next(item for item in ran.json if "error" in item)
    place = failed["artifact"]
    assert (place["file"], place["line"], place["namespace"], place["name"]) == (str(file), 2, "team-a", "qwen")
    assert failed["error"]["message"].startswith("hf://team/none@")
    named = f"{file}:2 team-a/qwen"
    assert f"error: {named}: hf://team/none@" in ran.err
    table = gsm("resolve", "-f", file, hub=hub)
    assert f"error: {named}: hf://team/none@" in table.err
    header, *rows = table.out.splitlines()
    assert header.startswith("ARTIFACT ")
    assert rows
    assert all(row.startswith(f"{file}:") for row in rows)


def test_write_refuses_another_digest_than_the_file_s(
    gsm: Gsm, local_hub: HubFactory, qwen: None, tmp_path: Path
) -> None:
    file = tmp_path / "models.yaml"
    file.write_text(ARTIFACTS.replace("  ignorePatterns", f"  expectedDigest: {NO_SUCH}\n  ignorePatterns"))
    before = file.read_text()
    ran = gsm("resolve", "-f", file, "--write", hub=local_hub())
    assert (ran.status, file.read_text()) == (18, before)


def test_the_shell_s_stars_behind_f_are_files(gsm: Gsm, local_hub: HubFactory, qwen: None, tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(ARTIFACTS)
    ran = gsm("resolve", "-f", "a.yaml", "b.yaml", "-o", "json", hub=local_hub(), cwd=tmp_path)
    assert [item["artifact"]["file"] for item in ran.json] == ["a.yaml", "a.yaml", "b.yaml", "b.yaml"]


def test_a_folder_stands_for_its_files(gsm: Gsm, local_hub: HubFactory, qwen: None, tmp_path: Path) -> None:
    for name in ("deploy/a.yaml", "deploy/sub/b.yml", "deploy/.hidden.yaml", "deploy/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(ARTIFACTS)
    ran = gsm("resolve", "-f", "deploy", "-o", "json", hub=local_hub(), cwd=tmp_path)
    assert [item["artifact"]["file"] for item in ran.json] == ["deploy/a.yaml"] * 2 + ["deploy/sub/b.yml"] * 2
    (tmp_path / "empty").mkdir()
    empty = gsm("verify", "-f", "empty", cwd=tmp_path)
    assert (empty.status, "empty holds no .yaml" in empty.err) == (2, True)


def test_stdin_and_a_ready_artifact(gsm: Gsm, local_hub: HubFactory, qwen: None) -> None:
    hub = local_hub()
    ran = gsm("resolve", "-", "-o", "artifact", stdin=ARTIFACTS, hub=hub)
    first, second = yaml.safe_load_all(ran.out)
    source = first["spec"]["source"]["huggingFace"]
    assert source["secretRef"] == {"name": "hf-token"}
    assert COMMIT.fullmatch(source["revision"])
    assert first["spec"]["ignorePatterns"] == ["original/"]
    assert first["metadata"] == {"name": "qwen", "namespace": "team-a"}
    assert second["spec"]["source"]["modelScope"]["repository"] == "team/qwen"
    checked = gsm("verify", "-f", "-", "-o", "json", stdin=ran.out, hub=hub)
    assert [check["outcome"] for check in checked.json] == ["passed", "passed"]

    made = gsm("resolve", "team/qwen", "--allow", "*.json", "-o", "artifact", hub=hub)
    checked = gsm("verify", "-f", "-", "-o", "json", stdin=made.out, hub=hub)
    assert [check["outcome"] for check in checked.json] == ["passed"]


USAGE = {
    "nothing": (("resolve",), "nothing to resolve was named"),
    "write-without-a-file": (("resolve", "a/b", "--write"), "--write has no file to write to"),
    "write-to-stdin": (("resolve", "-f", "-", "--write"), "--write has no file to write to"),
    "patterns-of-a-file": (("resolve", "-f", "x.yaml", "--allow", "*"), "are for references"),
    "expect-of-several": (("resolve", "a/b", "c/d", "--expect", NO_SUCH), "the digest of one reference"),
    "expect-something-else": (("resolve", "a/b", "--expect", "sha256:abc"), "is not a manifest digest"),
    "one-token-for-two-hubs": (("resolve", "a/b", "ms://c/d", "--token-file", "t"), "the token of one hub"),
    "an-endpoint-with-a-password": (("resolve", "a/b", "--endpoint", "http://u:secret@h"), "--endpoint"),
    "an-unknown-format": (("resolve", "a/b", "-o", "xml"), "'-o': 'xml' is not one of"),
    "a-time-of-nothing": (("resolve", "a/b", "--timeout", "0"), "--timeout"),
}


@pytest.mark.parametrize(("arguments", "words"), USAGE.values(), ids=USAGE.keys())
def test_usage(gsm: Gsm, arguments: tuple[str, ...], words: str) -> None:
    ran = gsm(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert words in ran.err
    assert "secret" not in ran.err


FILES = {
    "missing": (None, 30, "does not exist"),
    "not-yaml": ("a: [", 2, "models.yaml:"),
    "two-sources": (
        ARTIFACTS.replace("    huggingFace:", "    image: {reference: r.io/x}\n    huggingFace:"),
        2,
        "models.yaml:2",
    ),
    "binary": (b"\xff\xfe\x00", 2, "UTF-8"),
}


@pytest.mark.parametrize(("content", "status", "words"), FILES.values(), ids=FILES.keys())
def test_a_file_that_cannot_be_taken_is_named(
    gsm: Gsm, content: str | bytes | None, status: int, words: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "models.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    ran = gsm("resolve", "-f", "models.yaml", cwd=tmp_path)
    assert (ran.status, ran.out) == (status, "")
    assert "models.yaml" in ran.err
    assert words in ran.err
