"""Owns `gsm render`: every example against its golden file, the process's statuses, and a real hub behind `--resolve`.

Refuses golden files that were not read: `python -m tests.examples` writes them, and their difference is reviewed.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack_models.cli import app
from tests import examples
from tests.integration.cli.conftest import Gsm
from tests.integration.conftest import TOKENS, HubFactory, Publish

EXAMPLES = {example.name: example for example in examples.every()}
SPECIFICATION = (examples.FOLDER / "specification" / "input.yaml").read_text()

DEPLOYMENT = """
apiVersion: worker.gpustack.ai/v1
kind: ModelDeployment
metadata: {name: chat}
spec:
  model: {name: tiny, artifactRef: {name: tiny}}
  engine: {name: vLLM}
  roles: [{name: server, image: engine:1}]
"""
ARTIFACT = """
apiVersion: worker.gpustack.ai/v1
kind: ModelArtifact
metadata: {name: tiny, uid: 3f0c1a52-8f5e-4f43-9f0b-7b8c1f2d3e4a}
spec: {source: {huggingFace: {repository: org/tiny}}}
---
"""


@pytest.fixture
def handler() -> Iterator[None]:
    """The command line takes SIGTERM over; here it is the tests' process."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("handler")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_renders_to_its_golden_file(
    name: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    example = EXAMPLES[name]
    monkeypatch.chdir(examples.ROOT)
    status = app.run(example.arguments)
    captured = capfdbinary.readouterr()
    assert status == example.status
    assert captured.out == example.golden.read_bytes()
    assert b"Traceback" not in captured.err
    assert (b"error:" in captured.err) is (status != 0)


def test_every_example_passes_every_rule(gsm: Gsm) -> None:
    ran = gsm("validate", "-f", examples.FOLDER, "--kubernetes-version", "1.36", "-o", "json")
    assert ran.status == 0, ran.out
    assert ran.json["refusals"] == []
    assert ran.json["objects"] > 2 * len(EXAMPLES) - 1


def test_every_delivery_of_both_engines_is_among_the_examples() -> None:
    deliveries = ("claim", "engine-huggingface", "engine-modelscope", "node-huggingface", "node-modelscope", "image")
    wanted = {f"{delivery}-{engine}" for delivery in deliveries for engine in ("vllm", "sglang")}
    assert wanted <= set(EXAMPLES)


@pytest.mark.parametrize(
    "lines",
    [
        (
            "spec:                                    # immutable after creation",
            "  source:                                # exactly one member",
            "    huggingFace:",
            "      repository: Qwen/Qwen2.5-7B-Instruct",
            "      revision: main                     # branch, tag or commit; defaults to main",
        ),
        (
            "spec:",
            "  model:",
            "    name: qwen-7b                        # the served name, unchanged",
            "    artifactRef: # a ModelArtifact in this namespace",
            "      name: qwen-7b",
        ),
        (
            "spec:",
            "  additionalVolumes:",
            "    - mountPath: /models/qwen",
            "      model:",
            "        artifactRef:",
            "          name: qwen-7b",
        ),
    ],
    ids=["artifact", "reference", "volume"],
)
def test_the_specifications_own_words_are_an_example(lines: tuple[str, ...]) -> None:
    assert "\n".join(lines) + "\n" in SPECIFICATION


@pytest.mark.parametrize("name", ["blocked-claim-not-bound", "warm-nodes"])
def test_a_process_says_the_same_whatever_its_hash_seed(name: str, gsm: Gsm) -> None:
    example = EXAMPLES[name]
    for seed in ("1", "2"):
        ran = gsm(*example.arguments, env={"PYTHONHASHSEED": seed}, cwd=examples.ROOT)
        assert (ran.status, ran.out.encode()) == (example.status, example.golden.read_bytes())


def test_the_order_of_files_changes_nothing(gsm: Gsm, tmp_path: Path) -> None:
    documents = (examples.FOLDER / "warm-nodes" / "input.yaml").read_text().split("\n---\n")
    for index, document in enumerate(documents):
        (tmp_path / f"{index}.yaml").write_text(document)
    files = [tmp_path / f"{index}.yaml" for index in range(len(documents))]
    forward = gsm("render", "--delivery", "Node", *files)
    backward = gsm("render", "--delivery", "Node", *reversed(files))
    assert forward.status == 0
    assert forward.out == backward.out == EXAMPLES["warm-nodes"].golden.read_text()


def test_json_is_the_same_as_one_list(gsm: Gsm) -> None:
    example = EXAMPLES["kv-cache-vllm"]
    ran = gsm(*example.arguments, "-o", "json", cwd=examples.ROOT)
    assert ran.json["kind"] == "List"
    assert ran.json["items"] == list(yaml.safe_load_all(example.golden.read_text()))


def test_objects_only_is_what_kubectl_can_take(gsm: Gsm) -> None:
    ran = gsm(*EXAMPLES["kv-cache-vllm"].arguments, "--objects", cwd=examples.ROOT)
    kinds = [document["kind"] for document in yaml.safe_load_all(ran.out)]
    assert kinds == ["Pod", "Pod", "Pod", "Service"]


def test_what_validate_refuses_is_refused_with_its_words(gsm: Gsm, tmp_path: Path) -> None:
    file = tmp_path / "chat.yaml"
    file.write_text(ARTIFACT + DEPLOYMENT.replace("engine:1", "engine:1, extraArgs: [--rev, main]"))
    refused = json.loads(gsm("validate", "-f", file, "-o", "json").out)["refusals"]
    ran = gsm("render", "-f", file)
    assert ran.status == 1
    assert ran.out == ""
    assert [refusal["rule"] for refusal in refused] == ["vllm-revision"]
    for refusal in refused:
        assert f"{refusal['file']}:{refusal['line']}:{refusal['column']}: " in ran.err
        assert refusal["message"] in ran.err
        assert f"({refusal['rule']})" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--setting", "model-artifact-delivery-mode"], "there is no value"),
        (["--setting", "model-artefact-delivery-mode=Node"], "is no setting"),
        (["--setting", "model-artifact-https-proxy=ftp://x"], "blank, or an http(s) URL"),
        (["--claim", "models"], "states no claim"),
        (["--claim", "models=Bond"], "'Bond' says nothing of a claim"),
        (["--delivery", "node"], "node"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_option_is_told(arguments: list[str], said: str, gsm: Gsm, tmp_path: Path) -> None:
    file = tmp_path / "chat.yaml"
    file.write_text(ARTIFACT + DEPLOYMENT)
    ran = gsm("render", "-f", file, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("{metadata: {name: models}, status: {phase: bound}}", "PersistentVolumeClaim 'models': status.phase"),
        ("{metadata: {name: models}, spec: []}", "PersistentVolumeClaim 'models': spec"),
    ],
    ids=["no-such-phase", "a-list"],
)
def test_an_unreadable_fact_is_told(claim: str, said: str, gsm: Gsm) -> None:
    fact = f"\n---\napiVersion: v1\nkind: PersistentVolumeClaim\n{claim[1:-1].replace(', s', chr(10) + 's')}\n"
    ran = gsm("render", "-f", "-", stdin=ARTIFACT + DEPLOYMENT + fact)
    assert ran.status == 2
    assert said in ran.err


def test_an_image_needs_an_api_server_that_mounts_it(gsm: Gsm) -> None:
    file = examples.FOLDER / "image-vllm" / "input.yaml"
    ran = gsm("render", "-f", file, "--kubernetes-version", "1.34")
    assert (ran.status, ran.out) == (1, "")
    assert "1.35" in ran.err


def test_files_without_a_workload_are_told(gsm: Gsm) -> None:
    ran = gsm("render", "-f", "-", stdin=ARTIFACT)
    assert ran.status == 2
    assert "no ModelDeployment" in ran.err


def test_an_unresolved_artifact_is_a_reason_and_a_status(gsm: Gsm) -> None:
    ran = gsm("render", "-f", "-", stdin=ARTIFACT + DEPLOYMENT)
    assert ran.status == 3
    assert "hint: --resolve asks the hub now" in ran.err
    assert (
        _status(ran.out, "ModelDeployment")["phaseMessage"]
        == "ModelArtifact 'tiny' is not resolved: it has not been resolved yet"
    )
    assert "ArtifactNotResolved" in ran.err


def _status(out: str, kind: str = "ModelArtifact") -> Any:
    return next(each for each in yaml.safe_load_all(out) if each["kind"] == kind)["status"]


def test_resolve_asks_the_hub(gsm: Gsm, local_hub: HubFactory, publish: Publish) -> None:
    publish("org/tiny", {"config.json": "{}", "model.safetensors": b"\0" * 100})
    hub = local_hub()
    ran = gsm("render", "-f", "-", "--resolve", hub=hub, stdin=ARTIFACT + DEPLOYMENT)
    assert ran.status == 0, ran.err
    resolved = _status(ran.out)["resolved"]
    assert (resolved["fileCount"], resolved["sizeBytes"], resolved["digestSource"]) == (2, 102, "Hub")
    pod = next(each for each in yaml.safe_load_all(ran.out) if each["kind"] == "Pod")
    assert pod["spec"]["containers"][0]["args"][:3] == ["org/tiny", "--revision", resolved["revision"]]
    looked = json.loads(gsm("resolve", "hf://org/tiny", "-o", "json", hub=hub).out)
    assert resolved["manifestDigest"] in json.dumps(looked)


def test_a_refusal_of_the_hub_is_the_artifacts_reason(gsm: Gsm, local_hub: HubFactory, publish: Publish) -> None:
    publish("org/tiny", {"config.json": "{}"}, "access: private\nreaders: [alice]\n")
    hub = local_hub()
    text = ARTIFACT + DEPLOYMENT
    ran = gsm("render", "-f", "-", "--resolve", hub=hub, stdin=text)
    assert ran.status == 3
    assert "--resolve asks" not in ran.err
    assert "AccessDenied" in ran.err
    conditions = {each["type"]: each for each in _status(ran.out)["conditions"]}
    assert (conditions["Resolved"]["status"], conditions["Resolved"]["reason"]) == ("False", "AccessDenied")
    allowed = gsm("render", "-f", "-", "--resolve", hub=hub, stdin=text, env={"HF_TOKEN": TOKENS["alice"]})
    assert allowed.status == 0, allowed.err
    assert TOKENS["alice"] not in allowed.out + allowed.err
