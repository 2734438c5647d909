"""Owns ModelArtifacts in files: which documents are one, what is refused, and how they are pinned."""

from __future__ import annotations

import pytest

from gpustack_models.core.artifactfile import Pin, object_name, pinned, read, to_object
from gpustack_models.core.refs import HubKind, HubRef, ImageRef, parse
from gpustack_models.errors import GsmError, Reason

PIN = Pin("7ae557604adf67be50417f59c2c2f167def9a775", "sha256:" + "0" * 64)

TEXT = """\
# Our models
apiVersion: worker.gpustack.ai/v1
kind: ModelArtifact
metadata:
  name: qwen # the small one
  namespace: team-a
spec:
  source:
    huggingFace:
      repository: Qwen/Qwen2.5-0.5B-Instruct
  allowPatterns: ["*.json"]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: v1
kind: List
items:
  - apiVersion: worker.gpustack.ai/v1
    kind: ModelArtifact
    metadata: {name: bert}
    spec: {source: {modelScope: {repository: a/b, revision: master}}}
  - apiVersion: worker.gpustack.ai/v1
    kind: ModelArtifact
    metadata: {name: claim}
    spec: {source: {persistentVolumeClaim: {claimName: models, path: qwen}}}
"""


def test_every_artifact_is_found_and_others_are_left_alone() -> None:
    found = read(TEXT, "models.yaml")
    assert [each.name for each in found] == [
        "models.yaml:2 team-a/qwen",
        "models.yaml:20 bert",
        "models.yaml:24 claim",
    ]
    assert [str(each.ref) for each in found] == [
        "hf://Qwen/Qwen2.5-0.5B-Instruct@main",
        "ms://a/b@master",
        "pvc://models/qwen",
    ]


def test_pinning_changes_two_values_of_each_and_nothing_else() -> None:
    found = read(TEXT, "models.yaml")
    after = pinned(TEXT, {each.place: PIN for each in found[:2]})
    removed = [line for line in TEXT.splitlines() if line not in after.splitlines()]
    added = [line for line in after.splitlines() if line not in TEXT.splitlines()]
    assert removed == ["    spec: {source: {modelScope: {repository: a/b, revision: master}}}"]
    assert added == [
        f"      revision: {PIN.commit}",
        f"  expectedDigest: {PIN.digest}",
        f"    spec: {{source: {{modelScope: {{repository: a/b, revision: {PIN.commit}}}}}, "
        f'"expectedDigest": "{PIN.digest}"}}',
    ]
    assert pinned(after, {each.place: PIN for each in read(after, "models.yaml")[:2]}) == after


def test_a_claim_has_nothing_to_pin() -> None:
    claim = read(TEXT, "models.yaml")[2]
    assert pinned(TEXT, {claim.place: PIN}) == TEXT


def test_a_byte_order_mark_stays() -> None:
    text = "\ufeff" + TEXT
    after = pinned(text, {each.place: PIN for each in read(text, "m.yaml")})
    assert after.startswith("\ufeff# Our models")
    assert PIN.commit in after


def _with(spec: str) -> str:
    return f"apiVersion: worker.gpustack.ai/v1\nkind: ModelArtifact\nmetadata: {{name: x}}\nspec: {spec}\n"


REFUSED = {
    "not-yaml": ("a: [", Reason.INVALID_INPUT, "f.yaml:"),
    "a-key-twice": ("a: 1\na: 2\n", Reason.INVALID_INPUT, "f.yaml:"),
    "no-source": (_with("{source: {}}"), Reason.INVALID_INPUT, "exactly one"),
    "two-sources": (
        _with("{source: {huggingFace: {repository: a/b}, image: {reference: r/x}}}"),
        Reason.INVALID_INPUT,
        "exactly one",
    ),
    "a-bad-repository": (_with("{source: {huggingFace: {repository: a/b/c}}}"), Reason.INVALID_REFERENCE, "f.yaml:1"),
    "a-bad-digest": (
        _with("{source: {huggingFace: {repository: a/b}}, expectedDigest: sha256:ab}"),
        Reason.INVALID_INPUT,
        "spec.expectedDigest",
    ),
    "a-field-of-another-type": (_with("{source: {huggingFace: {repository: 7}}}"), Reason.INVALID_INPUT, "f.yaml:1"),
    "an-image-by-tag": (_with("{source: {image: {reference: r.io/x:v1}}}"), Reason.INVALID_REFERENCE, "a tag"),
}


@pytest.mark.parametrize(("text", "reason", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(text: str, reason: Reason, words: str) -> None:
    with pytest.raises(GsmError) as caught:
        read(text, "f.yaml")
    assert (caught.value.reason, words in caught.value.message) == (reason, True)


def test_an_image_by_digest() -> None:
    (found,) = read(_with("{source: {image: {reference: 'r.io/x@sha256:%s'}}}" % ("a" * 64)), "f.yaml")
    assert isinstance(found.ref, ImageRef)


def test_what_is_written_is_read_back() -> None:
    import json

    ref = HubRef(HubKind.HUGGING_FACE, "Qwen/Qwen2.5", PIN.commit)
    value = to_object("qwen", ref, {"ignorePatterns": ["original/"], "allowPatterns": [], "expectedDigest": PIN.digest})
    (found,) = read(json.dumps(value), "f.yaml")
    assert found.ref == ref
    assert found.artifact.spec.expected_digest == PIN.digest
    assert found.artifact.spec.patterns.ignore == ("original/",)
    assert "allowPatterns" not in value["spec"]


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("hf://Qwen/Qwen2.5-7B-Instruct", "qwen2-5-7b-instruct"),
        ("hf://gpt2", "gpt2"),
        ("hf://a/___", "model"),
        ("hf://a/" + "x" * 90, "x" * 63),
    ],
)
def test_a_name_for_the_object(reference: str, name: str) -> None:
    ref = parse(reference)
    assert isinstance(ref, HubRef)
    assert object_name(ref.repository) == name
