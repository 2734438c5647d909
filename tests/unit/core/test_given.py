"""Owns what files and a command line say of the cluster, and which of them wins."""

from __future__ import annotations

from typing import Any

import pytest

from gpustack_models.core.coreobjects import ClaimPhase
from gpustack_models.core.given import NO_UID, Given, Stated, assumed, claims, cluster, settings
from gpustack_models.core.rendering import leans_on_no_uid, render, with_status
from gpustack_models.core.resource import JsonObject
from tests.unit.core.delivery.make import artifact, deployment

DRIVER = "model.csi.gpustack.ai"


def _core(kind: str, name: str, **members: Any) -> JsonObject:
    namespace = {"namespace": members.pop("namespace")} if "namespace" in members else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **namespace}, **members}


def _setting(name: str, value: str) -> JsonObject:
    return {"apiVersion": "gpustack.ai/v1", "kind": "Setting", "metadata": {"name": name}, "spec": {"value": value}}


CLAIMED = artifact("claim").to_object()
PVC = _core("PersistentVolumeClaim", "models", namespace="team-a", status={"phase": "Bound"})
ELSEWHERE = _core("PersistentVolumeClaim", "models", namespace="team-b", status={"phase": "Bound"})
NOTHING = Stated()


@pytest.mark.parametrize(
    ("documents", "stated", "expected"),
    [
        ([], NOTHING, True),
        ([_core("CSIDriver", DRIVER)], NOTHING, True),
        ([_core("CSIDriver", "another")], NOTHING, False),
        ([_core("CSIDriver", "another")], Stated(csi_driver=True), True),
        ([_core("CSIDriver", DRIVER)], Stated(csi_driver=False), False),
    ],
    ids=["unknown", "listed", "not-listed", "stated", "stated-away"],
)
def test_the_driver_is_known_or_assumed(documents: list[JsonObject], stated: Stated, expected: bool) -> None:
    assert cluster(Given.of(documents), stated, "team-a").csi_driver is expected


def test_a_setting_is_the_command_lines_then_the_files_then_the_default() -> None:
    given = Given.of([_setting("model-artifact-delivery-mode", "Node"), _setting("model-artifact-no-proxy", "a")])
    found = settings(given, Stated({"model-artifact-no-proxy": "b"}))
    assert found["model-artifact-delivery-mode"] == "Node"
    assert found["model-artifact-no-proxy"] == "b"
    assert found["model-artifact-https-proxy"] == ""


@pytest.mark.parametrize(
    ("documents", "stated", "phase"),
    [
        ([CLAIMED], NOTHING, ClaimPhase.BOUND),
        ([CLAIMED, PVC], NOTHING, ClaimPhase.BOUND),
        ([CLAIMED, ELSEWHERE], NOTHING, None),
        ([CLAIMED, PVC], Stated(claims={"models": None}), None),
    ],
    ids=["assumed", "written", "written-elsewhere", "stated-missing"],
)
def test_a_claim_is_stated_written_or_assumed(
    documents: list[JsonObject], stated: Stated, phase: ClaimPhase | None
) -> None:
    found = claims(Given.of(documents), stated, "team-a")["models"]
    assert (found.phase if found is not None else None) == phase


def test_what_is_assumed_is_told() -> None:
    assert assumed(Given.of([CLAIMED]), NOTHING, "team-a") == ["models"]
    assert assumed(Given.of([CLAIMED]), NOTHING, "team-b") == []
    assert assumed(Given.of([CLAIMED, PVC]), NOTHING, "team-a") == []
    assert assumed(Given.of([CLAIMED]), Stated(claims={"models": None}), "team-a") == []


def _without_uid(source: str) -> JsonObject:
    value = artifact(source).to_object()
    del value["metadata"]["uid"]
    del value["status"]
    return value


@pytest.mark.parametrize(
    ("source", "kv", "leans"),
    [("claim", None, False), ("claim", {}, True), ("image", {}, True), ("image", None, False)],
)
def test_a_missing_uid_is_stood_in_for_and_told_where_it_shows(
    source: str, kv: dict[str, Any] | None, leans: bool
) -> None:
    given = Given.of([_without_uid(source), deployment(kv=kv).to_object()])
    assert given.artifacts("team-a")["qwen"].metadata.uid == NO_UID
    rendered = list(render(with_status(given, NOTHING), NOTHING))
    assert [each.blocked for each in rendered] == [None]
    assert leans_on_no_uid(rendered) is leans


def test_a_status_that_is_written_is_used_and_one_that_is_not_is_what_the_first_pass_gives() -> None:
    bare = with_status(Given.of([_without_uid("claim")]), Stated(claims={"models": None}))
    (condition,) = [each for each in bare.artifacts("team-a")["qwen"].status.conditions if each.type == "Resolved"]
    assert (condition.status, condition.reason) == ("False", "ClaimNotFound")
    written = with_status(Given.of([CLAIMED]), Stated(claims={"models": None}))
    assert written.artifacts("team-a")["qwen"].status == artifact("claim").status


def test_a_document_of_another_project_is_nothing_to_it() -> None:
    given = Given.of([{"apiVersion": "example.com/v1", "kind": "Instance", "metadata": {"name": "x"}}])
    assert given.resources == ()


def test_a_null_is_left_out_as_the_api_server_does() -> None:
    of = deployment().to_object()
    of["spec"]["roles"][0] |= {"resources": {"limits": {"cpu": None}}, "labels": {"a": None}}
    (read,) = Given.of([of]).resources
    assert read.to_object()["spec"]["roles"][0].get("labels", {}) == {}
