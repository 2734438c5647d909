"""Documents judged together."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.rules import table
from gpustack_models.core.rules.model import Facts
from gpustack_models.core.validation import validate
from tests.resources import ALL, CLAIM, HUGGING_FACE, Object

NOTHING = Facts()


def content(*objects: Object, name: str = "a.yaml") -> tuple[str, bytes]:
    return name, "\n---\n".join(map(json.dumps, objects)).encode()


def test_a_report_counts_what_was_judged() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret"}
    report = validate([content(*ALL.values(), secret)], NOTHING)
    assert (report.objects, report.others) == (8, 1)
    assert {finding.rule for finding in report.findings} == {"document-duplicate-object"}


def test_objects_of_two_namespaces_are_two() -> None:
    other = {**HUGGING_FACE, "metadata": {"name": "qwen-7b", "namespace": "other"}}
    assert validate([content(HUGGING_FACE), content(other, name="b.yaml")], NOTHING).findings == ()
    twice = validate([content(HUGGING_FACE), content(CLAIM, name="b.yaml")], NOTHING).findings
    assert [(finding.file, finding.message) for finding in twice] == [
        ("b.yaml", "is given before, in a.yaml on line 1")
    ]


def test_settings_of_one_namespace_are_judged_together() -> None:
    def setting(name: str, value: str, namespace: str) -> Object:
        return {
            "apiVersion": "gpustack.ai/v1",
            "kind": "Setting",
            "metadata": {"name": f"model-store-{name}-watermark", "namespace": namespace},
            "spec": {"value": value},
        }

    high, low = setting("high", "60", "a"), setting("low", "50", "a")
    assert validate([content(high, low)], NOTHING).findings == ()
    apart = validate([content(high, setting("low", "50", "b"))], NOTHING).findings
    assert [finding.rule for finding in apart] == ["setting-watermark-order"]


def test_a_csidriver_among_the_documents_is_one_of_the_cluster() -> None:
    mode = {
        "apiVersion": "gpustack.ai/v1",
        "kind": "Setting",
        "metadata": {"name": "model-artifact-delivery-mode"},
        "spec": {"value": "Node"},
    }
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "model.csi.gpustack.ai"}}
    without = Facts(csi_driver=False)
    assert [each.rule for each in validate([content(mode)], without).findings] == ["setting-delivery-driver"]
    assert validate([content(mode, driver)], without).findings == ()


def test_what_is_stored_makes_an_update() -> None:
    other = {**HUGGING_FACE, "spec": CLAIM["spec"]}
    report = validate([content(other)], NOTHING, [content(HUGGING_FACE, name="stored.yaml")])
    assert [finding.rule for finding in report.findings] == ["artifact-immutable"]
    unread = validate([content(other)], NOTHING, [("stored.yaml", b"[")])
    assert [(finding.file, finding.rule) for finding in unread.findings] == [("stored.yaml", "document-yaml")]


def test_an_object_that_says_no_namespace_is_the_stored_one_of_the_default_namespace() -> None:
    stored = {**HUGGING_FACE, "metadata": {"name": "a", "namespace": "default"}}
    new = {**CLAIM, "metadata": {"name": "a"}}
    report = validate([content(new)], NOTHING, [content(stored, name="stored.yaml")])
    assert [finding.rule for finding in report.findings] == ["artifact-immutable"]
    twice = validate([content(stored), content({**HUGGING_FACE, "metadata": {"name": "a"}}, name="b.yaml")], NOTHING)
    assert [finding.rule for finding in twice.findings] == ["document-duplicate-object"]


NAMES = st.sampled_from(["apiVersion", "kind", "metadata", "name", "spec", "items", "source", "roles", "labels", "env"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_whatever_a_document_is_only_refusals_come_of_it(value: object) -> None:
    for base in (
        value,
        {"apiVersion": "worker.gpustack.ai/v1", "kind": "ModelDeployment", "spec": value, "metadata": value},
    ):
        report = validate([("a.yaml", json.dumps(base).encode())], NOTHING)
        assert all(finding.rule in table.BY_ID for finding in report.findings)
