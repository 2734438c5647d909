"""Owns `gsm validate` and `gsm crd` as processes: each rule's file is refused by its name, without a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpustack_models.core.rules import table
from tests.generated import ROOT, files
from tests.integration.cli.conftest import Gsm

HERE = Path(__file__).parent
REFUSED, STORED = HERE / "refused", HERE / "stored"
#: Rules that look at what a file cannot say: what is stored, what the cluster is.
WITH_FACTS = {
    "artifact-immutable": ("--stored", STORED),
    "deployment-frozen": ("--stored", STORED),
    "artifact-image-version": ("--kubernetes-version", "1.34.9"),
    "setting-delivery-driver": ("--no-csi-driver",),
}
#: Rules about who asks: a laptop is nobody.
ABOUT_REQUESTERS = {"setting-operator-only", "artifact-status-writer", "nodestore-status-writer"}


@pytest.fixture(scope="module")
def names() -> list[str]:
    return sorted(path.stem for path in REFUSED.iterdir())


def test_every_rule_has_its_refused_file(names: list[str]) -> None:
    assert set(names) == table.BY_ID.keys() - ABOUT_REQUESTERS
    assert {path.stem for path in STORED.iterdir()} <= set(names)


def test_each_file_is_refused_by_the_rule_in_its_name_alone(gsm: Gsm, names: list[str]) -> None:
    ran = gsm("validate", "-f", REFUSED, "-o", "json")
    assert (ran.status, ran.err.count("Traceback")) == (1, 0)
    assert found(ran.json) == {name: {name} for name in names if name not in WITH_FACTS}


@pytest.mark.parametrize("name", WITH_FACTS)
def test_a_rule_about_the_cluster_is_judged_with_its_facts(gsm: Gsm, name: str) -> None:
    file = REFUSED / f"{name}.yaml"
    assert gsm("validate", "-f", file).status == 0
    ran = gsm("validate", "-f", file, *WITH_FACTS[name], "-o", "json")
    assert ran.status == 1
    assert found(ran.json) == {name: {name}}


def found(report: Any) -> dict[str, set[str]]:
    by_file: dict[str, set[str]] = {}
    for refusal in report["refusals"]:
        assert refusal["line"] >= 1
        assert refusal["message"]
        by_file.setdefault(Path(refusal["file"]).stem, set()).add(refusal["rule"])
    return by_file


def test_the_examples_are_clean(gsm: Gsm) -> None:
    ran = gsm("validate", "-f", ROOT / "examples")
    assert (ran.status, ran.out) == (0, "")
    assert "no refusals" in ran.err


def test_a_refusal_says_file_line_field_rule_and_next_step(gsm: Gsm) -> None:
    file = REFUSED / "schema-unknown-field.yaml"
    ran = gsm("validate", "-f", file)
    line = ran.out.splitlines()[1]
    assert line.split()[0] == f"{file}:10:7"
    assert "spec.source.huggingFace.revison" in line
    assert "schema-unknown-field" in line
    assert "did you mean revision?" in line


def test_github_annotations_name_file_and_line(gsm: Gsm) -> None:
    file = REFUSED / "deployment-engine.yaml"
    ran = gsm("validate", "-f", file, "-o", "github")
    assert ran.out.splitlines()[0].startswith(f"::error file={file},line=12,title=deployment-engine::")


def test_stdin_files_and_folders_are_read(gsm: Gsm, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.yml").write_text((REFUSED / "setting-interval.yaml").read_text())
    (tmp_path / "note.txt").write_text("{")
    (tmp_path / ".hidden.yaml").write_text("{")
    given = (REFUSED / "artifact-image-tag.yaml").read_text()
    ran = gsm("validate", "-f", "-", tmp_path, "-o", "json", stdin=given)
    assert [(each["file"], each["rule"]) for each in ran.json["refusals"]] == [
        (str(tmp_path / "deep" / "a.yml"), "setting-interval"),
        ("stdin", "artifact-image-tag"),
    ]


def test_documents_of_several_files_see_each_other(gsm: Gsm, tmp_path: Path) -> None:
    for name, value in (("low", 50), ("high", 60)):
        (tmp_path / f"{name}.yaml").write_text(
            json.dumps(
                {
                    "apiVersion": "gpustack.ai/v1",
                    "kind": "Setting",
                    "metadata": {"name": f"model-store-{name}-watermark", "namespace": "gpustack"},
                    "spec": {"value": str(value)},
                }
            )
        )
    assert gsm("validate", "-f", tmp_path).status == 0
    assert gsm("validate", "-f", tmp_path / "high.yaml").status == 1


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ((), 2, "no file is named"),
        (("-f", "nowhere.yaml"), 30, "nowhere.yaml does not exist"),
        (("-f", "."), 2, "holds no .yaml, .yml or .json file"),
        (("-f", "x", "-o", "xml"), 2, "xml"),
    ],
    ids=["none", "missing", "empty-folder", "format"],
)
def test_a_wrong_call_says_what_to_do(
    gsm: Gsm, tmp_path: Path, arguments: tuple[str, ...], status: int, words: str
) -> None:
    ran = gsm("validate", *arguments, cwd=tmp_path)
    assert ran.status == status
    assert words in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"---\n---\n", b"null", b"\xef\xbb\xbf", b"# only a comment"], ids=lambda data: repr(data)
)
def test_nothing_to_judge_is_no_refusal(gsm: Gsm, data: bytes) -> None:
    ran = gsm("validate", "-f", "-", stdin=data)
    assert (ran.status, ran.out) == (0, "")


def test_the_crds_are_printed_as_they_are_committed(gsm: Gsm) -> None:
    crds = [text for name, text in files().items() if name.startswith("deploy/")]
    assert gsm("crd").out == "---\n".join(crds)
    assert gsm("crd", "mart", "-o", "json").json["metadata"]["name"] == "modelartifacts.worker.gpustack.ai"
    ran = gsm("crd", "ModelArtefact")
    assert ran.status == 2
    assert "did you mean ModelArtifact?" in ran.err
