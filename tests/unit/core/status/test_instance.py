"""Owns an Instance's phases, each from a Pod's state."""

from __future__ import annotations

import pytest

from gpustack_models.core.delivery.instances import InstancePlan
from gpustack_models.core.instance import Instance
from gpustack_models.core.reasons import Blocked, WeightsReason
from gpustack_models.core.status.instance import InstancePod, instance_phase

WAITING = InstancePlan(Blocked(WeightsReason.ARTIFACT_NOT_FOUND, "no artifact"), None)
PLANNED = InstancePlan(None, {})


def _instance(stop: bool = False, going: bool = False) -> Instance:
    metadata = {"name": "dev", **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if going else {})}
    spec = {"image": "x", "stop": stop}
    return Instance.parse(
        {"apiVersion": "worker.gpustack.ai/v1", "kind": "Instance", "metadata": metadata, "spec": spec}
    )


@pytest.mark.parametrize(
    ("instance", "plan", "pod", "phase", "message"),
    [
        (_instance(), WAITING, None, "Pending", "no artifact"),
        (_instance(), PLANNED, None, "Pending", ""),
        (_instance(), PLANNED, InstancePod("Pending", trouble="0/3 nodes"), "Pending", "0/3 nodes"),
        (_instance(), PLANNED, InstancePod("Pending", node="n"), "Starting", ""),
        (_instance(), PLANNED, InstancePod("Running", node="n"), "Starting", ""),
        (_instance(), PLANNED, InstancePod("Running", ready=True, node="n"), "Running", ""),
        (_instance(), WAITING, InstancePod("Running", ready=True, node="n"), "Running", ""),
        (_instance(), PLANNED, InstancePod("Failed", trouble="Evicted"), "Failed", "Evicted"),
        (_instance(), PLANNED, InstancePod("Succeeded"), "Failed", "made again"),
        (_instance(), PLANNED, InstancePod("Running", terminating=True), "Pending", "still ending"),
        (_instance(stop=True), PLANNED, None, "Stopped", ""),
        (_instance(stop=True), PLANNED, InstancePod("Running"), "Stopped", "still ending"),
        (_instance(going=True), PLANNED, InstancePod("Running", ready=True), "Deleting", ""),
    ],
)
def test_phase(instance: Instance, plan: InstancePlan, pod: InstancePod | None, phase: str, message: str) -> None:
    found, said = instance_phase(instance, plan, pod)
    assert found == phase
    assert message in said
    assert bool(message) == bool(said)
