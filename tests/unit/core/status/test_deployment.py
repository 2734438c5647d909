"""Owns the conditions and the phase of a deployment: each row of the tables, from a plan and its replicas.

Refuses Pods; a replica is what is known of one.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpustack_models.core.delivery.plan import Plan, plan
from gpustack_models.core.nodestore import StoredModel
from gpustack_models.core.status.conditions import Finding, found, written
from gpustack_models.core.status.deployment import (
    Replica,
    phase,
    phase_message,
    replicas_up_to_date,
    weights_ready,
)
from tests.unit.core.delivery.make import DIGEST, artifact, cluster, deployment, role

TWO = (role(replicas=2),)


def _plan(source: str = "huggingFace", mode: str = "Engine", driver: bool = True) -> Plan:
    return plan(deployment("vLLM", *TWO), artifact(source), cluster(mode, driver=driver))


def _replica(number: int = 0, **members: object) -> Replica:
    return replace(Replica(f"chat-server-{number}-x", "server", "", node="n1"), **members)  # type: ignore[arg-type]


def _model(state: str, **members: object) -> StoredModel:
    return StoredModel.model_validate({"digest": DIGEST, "state": state, **members})


MOUNTING, MOUNTED = _replica(0), _replica(1, ready_to_start=True)
READY = _replica(1, ready_to_start=True, ready=True)
DOWNLOADING = _replica(0, node_model=_model("Downloading", sizeBytes=1000, downloadedBytes=450))
FAILED = _replica(
    0,
    node="n2",
    node_model=_model("Failed", reason="AccessDenied", message="denied", retryTime="2026-01-01T00:01:00Z"),
)
NAMELESS = plan(deployment(named=False), None, cluster())
BLOCKED = _plan(mode="Node", driver=False)

WEIGHTS: dict[str, tuple[Plan, list[Replica], str, str, str]] = {
    "no-artifact": (NAMELESS, [], "True", "NotApplicable", ""),
    "blocked": (BLOCKED, [READY, READY], "False", "NodeDeliveryUnavailable", "model.csi.gpustack.ai"),
    "claim-no-pod-yet": (_plan("claim"), [], "False", "WeightsNotMounted", "2 of 2"),
    "claim-mounting": (_plan("claim"), [MOUNTING, MOUNTED], "False", "WeightsNotMounted", "'chat-server-0-x'"),
    "claim-mounted": (_plan("claim"), [MOUNTED, MOUNTED], "True", "Mounted", ""),
    "claim-one-missing": (_plan("claim"), [MOUNTED], "False", "WeightsNotMounted", "1 of 2"),
    "image-mounting": (
        _plan("image"),
        [replace(MOUNTING, trouble="ErrImagePull"), MOUNTED],
        "False",
        "WeightsNotMounted",
        "ErrImagePull",
    ),
    "image-mounted": (_plan("image"), [MOUNTED, MOUNTED], "True", "Mounted", ""),
    "node-mounting": (_plan(mode="Node"), [MOUNTING, MOUNTED], "False", "WeightsNotMounted", ""),
    "node-materializing": (_plan(mode="Node"), [DOWNLOADING, MOUNTED], "False", "Materializing", "45 % of 1000"),
    "node-failed": (
        _plan(mode="Node"),
        [MOUNTED, FAILED],
        "False",
        "MaterializationFailed",
        "node 'n2' could not fetch the weights: AccessDenied: denied; it is tried again at 2026-01-01T00:01:00Z",
    ),
    "node-failed-and-materializing": (_plan(mode="Node"), [DOWNLOADING, FAILED], "False", "MaterializationFailed", ""),
    "node-mounted-while-its-store-downloads": (
        _plan(mode="Node"),
        [replace(DOWNLOADING, ready_to_start=True), MOUNTED],
        "True",
        "Mounted",
        "",
    ),
    "node-not-mounted-though-ready": (
        _plan(mode="Node"),
        [replace(MOUNTING, node_model=_model("Ready")), MOUNTED],
        "False",
        "WeightsNotMounted",
        "",
    ),
    "claim-never-materializes": (_plan("claim"), [DOWNLOADING, MOUNTED], "False", "WeightsNotMounted", ""),
    "engine-no-pod-yet": (_plan(), [], "False", "Downloading", "2 engine Pods"),
    "engine-downloading": (_plan(), [MOUNTED, READY], "False", "Downloading", "reports no progress"),
    "engine-downloaded": (_plan(), [READY, READY], "True", "Downloaded", ""),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_ready(name: str) -> None:
    of, replicas, status, reason, message = WEIGHTS[name]
    finding = weights_ready(of, replicas)
    assert (finding.status, finding.reason) == (status, reason)
    assert message in finding.message


def test_a_take_over_role_is_not_waited_for_under_engine_delivery() -> None:
    of = deployment("vLLM", role(), role(name="proxy", command=["/x"]))
    engine = plan(of, artifact("huggingFace"), cluster())
    assert weights_ready(engine, [READY]).holds
    claim = plan(of, artifact("claim"), cluster())
    assert not weights_ready(claim, [READY]).holds


def test_no_replica_wants_no_weights() -> None:
    none = plan(deployment("vLLM", role(replicas=0)), artifact("claim"), cluster())
    assert weights_ready(none, []).reason == "Mounted"


def _of(of: Plan, *, current: int, old: int = 0) -> list[Replica]:
    fingerprint = of.templates[0].fingerprint
    numbers = range(current + old)
    return [_replica(each, fingerprint=fingerprint if each < current else "old") for each in numbers]


UNTOLD = plan(deployment("vLLM", *TWO), None, cluster())
UP_TO_DATE: dict[str, tuple[Plan, list[Replica], str, str]] = {
    "all-current": (_plan(), _of(_plan(), current=2), "True", "UpToDate"),
    "one-old": (_plan(), _of(_plan(), current=1, old=1), "False", "RollingOut"),
    "one-missing": (_plan(), _of(_plan(), current=1), "False", "RollingOut"),
    "held": (BLOCKED, _of(BLOCKED, current=1, old=1), "False", "RolloutHeldByWeights"),
    "blocked-but-current": (BLOCKED, _of(BLOCKED, current=2), "True", "UpToDate"),
    "blocked-and-missing": (BLOCKED, _of(BLOCKED, current=1), "True", "UpToDate"),
    "blocked-and-untold": (UNTOLD, [_replica(0, fingerprint="x")], "True", "UpToDate"),
}


@pytest.mark.parametrize("name", UP_TO_DATE)
def test_replicas_up_to_date(name: str) -> None:
    of, replicas, status, reason = UP_TO_DATE[name]
    finding = replicas_up_to_date(of, replicas)
    assert (finding.status, finding.reason) == (status, reason)


@pytest.mark.parametrize(
    ("replicas", "before", "expected"),
    [
        ([], None, "Starting"),
        ([READY], None, "Starting"),
        ([READY, READY], "Starting", "Ready"),
        ([READY], "Ready", "Degraded"),
        ([], "Degraded", "Degraded"),
        ([READY], "Starting", "Starting"),
    ],
)
def test_phase(replicas: list[Replica], before: str | None, expected: str) -> None:
    assert phase(_plan(), replicas, before) == expected


def test_a_deployment_that_goes_is_deleting() -> None:
    going = plan(deployment(deletionTimestamp="2026-01-01T00:00:00Z"), artifact("claim"), cluster())
    assert phase(going, [READY], "Ready") == "Deleting"


def test_the_phase_message_is_the_first_thing_that_stands_in_the_way() -> None:
    weights = weights_ready(BLOCKED, [])
    assert phase_message(BLOCKED, [READY], weights, "create failed") == weights.message
    of = _plan()
    weights = weights_ready(of, [READY])
    assert phase_message(of, [READY], weights, "create failed") == "create failed"
    evicted = replace(READY, trouble="Evicted: usage of EmptyDir exceeds its limit")
    assert "usage of EmptyDir" in phase_message(of, [evicted], weights)
    assert phase_message(of, [READY], weights).startswith("1 of 2 replicas are Ready; ")
    assert phase_message(of, [READY, READY], weights_ready(of, [READY, READY])) == ""


def test_a_transition_has_a_time_and_a_repetition_keeps_it() -> None:
    first = written((), [weights_ready(BLOCKED, [])], generation=1, now="t1")
    again = written(first, [weights_ready(BLOCKED, [])], generation=2, now="t2")
    assert (again[0].last_transition_time, again[0].observed_generation) == ("t1", 2)
    moved = written(again, [weights_ready(_plan(), [READY, READY])], generation=2, now="t3")
    assert moved[0].last_transition_time == "t3"
    both = written(moved, [replicas_up_to_date(_plan(), [])], generation=2, now="t4")
    assert [each.type for each in both] == ["ReplicasUpToDate", "WeightsReady"]
    kept = found(both, weights_ready(BLOCKED, []).type)
    assert isinstance(kept, Finding)
    assert kept.holds
