"""Objects judged by the table: what is refused, where, and what an update leaves alone."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from gpustack_models.core import paths
from gpustack_models.core.kinds import BY_KIND
from gpustack_models.core.rules.judge import Request, judge
from gpustack_models.core.rules.model import Facts, Operation, Requester
from tests.resources import (
    ALL,
    CLAIM,
    DEPLOYMENT,
    HUGGING_FACE,
    IMAGE,
    INSTANCE,
    MODEL_SCOPE,
    NODE_STORE,
    SETTING,
    Object,
)

UPDATE = Request(Operation.UPDATE)


def changed(base: Object, path: str, value: Any) -> Object:
    """The object with one part set; `...` takes it out."""
    new = deepcopy(base)
    *above, last = paths.parse(path)
    holder: Any = new
    for step in above:
        holder = holder.setdefault(step, {}) if isinstance(holder, dict) else holder[step]
    if value is ...:
        del holder[last]
    elif isinstance(holder, list) and last == len(holder):
        holder.append(value)
    else:
        holder[last] = value
    return new


def refusals(new: Object, old: Object | None = None, **more: Any) -> list[tuple[str, str]]:
    request = more.pop("request", UPDATE if old else Request())
    found = judge(BY_KIND[new["kind"]], new, old, request=request, **more)
    return [(each.rule, paths.text(each.path)) for each in found]


@pytest.mark.parametrize("base", ALL.values(), ids=ALL)
def test_a_whole_object_is_accepted_and_stays_so(base: Object) -> None:
    assert refusals(base) == []
    assert refusals(base, base) == []


@pytest.mark.parametrize(
    ("base", "path", "value", "rule", "field"),
    [
        (HUGGING_FACE, "spec.source.image", {"reference": "x"}, "artifact-source-one", "spec.source"),
        (HUGGING_FACE, "spec.source.huggingFace", ..., "artifact-source-one", "spec.source"),
        (CLAIM, "spec.ignorePatterns", ["a"], "artifact-patterns-hub-only", "spec.ignorePatterns"),
        (IMAGE, "spec.allowPatterns", ["a"], "artifact-patterns-hub-only", "spec.allowPatterns"),
        (IMAGE, "spec.expectedDigest", "sha256:" + "a" * 64, "artifact-digest-hub-only", "spec.expectedDigest"),
        (MODEL_SCOPE, "spec.expectedDigest", "sha256:" + "A" * 64, "artifact-digest-form", "spec.expectedDigest"),
        (HUGGING_FACE, "spec.allowPatterns", ["a"] * 33, "artifact-pattern-count", "spec.allowPatterns"),
        (HUGGING_FACE, "spec.allowPatterns[0]", "a" * 257, "artifact-pattern-length", "spec.allowPatterns[0]"),
        (CLAIM, "spec.source.persistentVolumeClaim.path", "/a", "artifact-claim-path", None),
        (DEPLOYMENT, "spec.roles[1].name", "server", "deployment-role-name-unique", "spec.roles[1].name"),
        (DEPLOYMENT, "spec.roles", [], "deployment-roles-count", "spec.roles"),
        (DEPLOYMENT, "spec.engine.name", "TGI", "deployment-engine", "spec.engine.name"),
        (DEPLOYMENT, "spec.roles[0].replicas", -1, "deployment-replicas", "spec.roles[0].replicas"),
        (DEPLOYMENT, "spec.roles[0].port", 0, "deployment-port", "spec.roles[0].port"),
        (DEPLOYMENT, "spec.roles[0].extraArgs[0]", "--rev", "vllm-revision", "spec.roles[0].extraArgs[0]"),
        (DEPLOYMENT, "spec.roles[0].env[0].name", "HF_HOME", "env-hf-home", "spec.roles[0].env[0].name"),
        (
            DEPLOYMENT,
            "spec.roles[0].volumes[1].mountPath",
            "/var/lib/gpustack/model/x",
            "deployment-volume-owned-path",
            "spec.roles[0].volumes[1].mountPath",
        ),
        (
            INSTANCE,
            "spec.additionalVolumes[0].subPath",
            "a",
            "instance-model-sub-path",
            "spec.additionalVolumes[0].subPath",
        ),
        (NODE_STORE, "spec.watermarks.lowPercent", 80, "nodestore-watermarks", "spec.watermarks.lowPercent"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.count("-") else "",
)
def test_a_refusal_names_its_field(base: Object, path: str, value: Any, rule: str, field: str | None) -> None:
    assert (rule, field or path) in refusals(changed(base, path, value))


@pytest.mark.parametrize(
    ("generated", "refused"),
    [
        ("chat-", set()),
        ("c" * 80, set()),
        ("Chat-", {"object-name", "deployment-name"}),
        ("1-", {"deployment-name"}),
    ],
    ids=["fine", "cut", "uppercase", "digit"],
)
def test_a_name_that_is_to_be_generated_is_judged_as_the_api_server_will(generated: str, refused: set[str]) -> None:
    new = changed(changed(DEPLOYMENT, "metadata.name", ...), "metadata.generateName", generated)
    assert {rule for rule, _ in refusals(new)} == refused


def test_a_watermark_of_thousands_of_digits_is_none() -> None:
    of = changed(SETTING, "metadata.name", "model-store-low-watermark")
    assert {rule for rule, _ in refusals(changed(of, "spec.value", "1" * 5000))} == {"schema-size", "setting-watermark"}


def test_the_owned_paths_are_free_without_an_artifact() -> None:
    hidden = changed(DEPLOYMENT, "spec.roles[0].volumes[1].mountPath", "/var/lib/gpustack/model")
    assert refusals(changed(hidden, "spec.model.artifactRef", ...)) == []


def test_a_take_over_role_keeps_its_own_command_line() -> None:
    taken = changed(DEPLOYMENT, "spec.roles[0].command", ["run"])
    taken = changed(taken, "spec.roles[0].extraArgs", ["--model", "x", "--revision", "y"])
    assert refusals(changed(taken, "spec.roles[0].env[0].name", "HF_TOKEN")) == []


@pytest.mark.parametrize("member", ["name", "artifactRef"])
def test_a_frozen_member_is_named(member: str) -> None:
    new = changed(DEPLOYMENT, f"spec.model.{member}", {"name": "other"} if member == "artifactRef" else "other")
    assert ("deployment-frozen", f"spec.model.{member}") in refusals(new, DEPLOYMENT)


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("spec.engine.version", "0.33.0", "spec.engine.version"),
        ("spec.engine.manufacturer", ..., "spec.engine.manufacturer"),
        ("spec.kvCache", ..., "spec.kvCache"),
        ("spec.kvCache.config", {"other": {}}, "spec.kvCache"),
        ("spec.roles[0].image", "other", "spec.roles[0].image"),
        ("spec.roles[0].extraArgs", ..., "spec.roles[0].extraArgs"),
        ("spec.roles[0].tolerations", [], "spec.roles[0].tolerations"),
        ("spec.roles[1].port", 8001, "spec.roles[1].port"),
        ("spec.roles[1].name", "other", "spec.roles"),
        ("spec.roles[2]", {"name": "third", "image": "x"}, "spec.roles"),
        ("spec.roles[1]", ..., "spec.roles"),
        ("spec.roles", list(reversed(DEPLOYMENT["spec"]["roles"])), "spec.roles"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_frozen_stays(path: str, value: Any, field: str) -> None:
    assert ("deployment-frozen", field) in refusals(changed(DEPLOYMENT, path, value), DEPLOYMENT)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.roles[0].replicas", 0),
        ("spec.roles[1].replicas", 3),
        ("spec.roles[1].port", 8000),
        ("spec.roles[1].kind", "Decode"),
        ("metadata.labels", {"a": "b"}),
        ("spec.roles[1].env", None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_may_change_may(path: str, value: Any) -> None:
    assert refusals(changed(DEPLOYMENT, path, value), DEPLOYMENT) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.roles[0].extraArgs", ["--rev", "x", "--config", "y", "--port", "1"]),
        ("spec.roles[0].env", [{"name": "HF_TOKEN", "value": "x"}]),
        ("spec.roles[0].labels", {"app.kubernetes.io/name": "x"}),
        ("spec.roles[0].image", "a b"),
        ("spec.roles[0].port", 70000),
        ("spec.model.name", "--x"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_was_stored_before_a_rule_existed_still_takes_other_edits(path: str, value: Any) -> None:
    old = changed(DEPLOYMENT, path, value)
    assert refusals(old) != []
    assert refusals(changed(old, "spec.roles[0].replicas", 5), old) == []
    assert refusals(changed(old, "metadata.finalizers", []), old) == []


def test_an_artifact_is_immutable_whatever_changes() -> None:
    assert refusals(changed(HUGGING_FACE, "spec.expectedDigest", ...), HUGGING_FACE) == [("artifact-immutable", "spec")]
    without = changed(HUGGING_FACE, "spec.source.huggingFace.revision", ...)
    assert refusals(without, HUGGING_FACE) == [], "the default is the revision that was written"


@pytest.mark.parametrize(
    ("version", "refused"),
    [
        (None, False),
        ("v1.35.0", False),
        ("v1.36.3-gke.100", False),
        ("1.35", False),
        ("v2.0.0", False),
        ("v1.34.9", True),
        ("1." + "9" * 5000, True),
        ("v1.33.1", True),
        ("", True),
        ("unknown", True),
    ],
)
def test_an_image_artifact_needs_its_floor(version: str | None, refused: bool) -> None:
    facts = Facts(kubernetes_version=version)
    found = judge(BY_KIND["ModelArtifact"], IMAGE, facts=facts)
    assert [each.rule for each in found] == ["artifact-image-version"] * refused
    assert all(
        "Use a huggingFace, modelScope or persistentVolumeClaim source instead" in each.message for each in found
    )
    assert refusals(IMAGE, IMAGE, facts=facts) == []
    assert refusals(HUGGING_FACE, facts=facts) == []


def setting(name: str, value: str) -> Object:
    return {**SETTING, "metadata": {"name": name, "namespace": "gpustack"}, "spec": {"value": value}}


@pytest.mark.parametrize(
    ("name", "value", "others", "refused"),
    [
        ("model-store-high-watermark", "71", {}, False),
        ("model-store-high-watermark", "70", {}, True),
        ("model-store-high-watermark", "60", {"model-store-low-watermark": "50"}, False),
        ("model-store-low-watermark", "80", {}, True),
        ("model-store-low-watermark", "80", {"model-store-high-watermark": "90"}, False),
        ("model-store-low-watermark", "79", {}, False),
    ],
)
def test_the_low_watermark_is_below_the_high_one(name: str, value: str, others: dict[str, str], refused: bool) -> None:
    expected = [("setting-watermark-order", "spec.value")] * refused
    assert refusals(setting(name, value), facts=Facts(settings=others)) == expected


@pytest.mark.parametrize(("driver", "refused"), [(None, False), (True, False), (False, True)])
def test_node_delivery_needs_the_driver(driver: bool | None, refused: bool) -> None:
    value = setting("model-artifact-delivery-mode", "Node")
    expected = [("setting-delivery-driver", "spec.value")] * refused
    assert refusals(value, facts=Facts(csi_driver=driver)) == expected
    assert refusals(setting("model-artifact-delivery-mode", "Engine"), facts=Facts(csi_driver=driver)) == []


@pytest.mark.parametrize("operation", [Operation.CREATE, Operation.DELETE])
def test_a_setting_is_made_and_removed_by_the_operator_alone(operation: Operation) -> None:
    facts = Facts(operator="system:serviceaccount:gpustack:operator")
    for user, expected in (("admin", [("setting-operator-only", "")]), (facts.operator or "", [])):
        request = Request(operation, requester=Requester(user))
        assert refusals(SETTING, request=request, facts=facts) == expected
    changed_by_admin = Request(Operation.UPDATE, requester=Requester("admin"))
    assert refusals(setting(SETTING["metadata"]["name"], "1h"), SETTING, request=changed_by_admin, facts=facts) == []


def test_a_broken_part_leaves_the_others_judged() -> None:
    value = changed(DEPLOYMENT, "spec.engine", "vLLM")
    value = changed(value, "spec.roles[1].image", "a b")
    assert refusals(value) == [("schema-type", "spec.engine"), ("deployment-image", "spec.roles[1].image")]


def test_every_refusal_speaks_to_a_person() -> None:
    broken = changed(changed(DEPLOYMENT, "spec.roles[0].port", "8000"), "spec.roles[0].extraArgs", "--x")
    broken = changed(broken, "spec.roles[0].labels", [{"a": "b"}])
    words = {paths.text(each.path): (each.message, each.hint) for each in judge(BY_KIND["ModelDeployment"], broken)}
    assert words == {
        "spec.roles[0].port": ("must be a whole number, but a text stands here", "write it without quotes: 8000"),
        "spec.roles[0].extraArgs": ("must be a list, but a text stands here", "begin each item with a dash"),
        "spec.roles[0].labels": (
            "must be a map, but a list stands here",
            "write `name: value` lines, without a dash",
        ),
    }
