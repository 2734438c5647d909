"""Owns a ModelDeployment's conditions and phase, from its plan and the replicas that exist.

Refuses to look a replica up: what is known of each is handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpustack_models.core.delivery.plan import Plan
from gpustack_models.core.deployment import Delivery, Phase
from gpustack_models.core.nodestore import ModelState, StoredModel
from gpustack_models.core.reasons import ConditionType, UpToDateReason, WeightsReason
from gpustack_models.core.status.conditions import FALSE, TRUE, Finding


@dataclass(frozen=True, slots=True)
class Replica:
    """One Pod of a deployment.

    `ready_to_start` is its condition `PodReadyToStartContainers`; `node_model` is what its node's store lists of the
    deployment's digest; `trouble` is the kubelet's or the API server's own words when it failed, empty otherwise.
    """

    name: str
    role: str
    fingerprint: str
    ready: bool = False
    ready_to_start: bool = False
    node: str = ""
    node_model: StoredModel | None = None
    trouble: str = ""


def weights_ready(plan: Plan, replicas: Sequence[Replica]) -> Finding:
    """`WeightsReady`: whether every engine role's weights are there (model-artifact.md, "Status")."""
    if plan.blocked is not None:
        return _weights(FALSE, plan.blocked.reason, plan.blocked.message)
    if plan.deployment.spec.model.artifact_ref is None or plan.delivery is None:
        return _weights(TRUE, WeightsReason.NOT_APPLICABLE, "the deployment names no artifact")
    if plan.delivery is Delivery.ENGINE:
        return _downloaded(plan, replicas)
    waiting = [replica for replica in replicas if not replica.ready_to_start]
    missing = _desired(plan, managed_only=False) - len(replicas)
    if plan.delivery is Delivery.NODE and (finding := _materializing(waiting)):
        return finding
    if waiting or missing > 0:
        first = f": Pod {waiting[0].name!r}{_because(waiting[0])}" if waiting else ""
        return _weights(
            FALSE,
            WeightsReason.WEIGHTS_NOT_MOUNTED,
            f"{len(waiting) + max(missing, 0)} of {_total(plan, replicas)} Pods have not mounted the weights{first}",
        )
    return _weights(TRUE, WeightsReason.MOUNTED, "every Pod has the weights mounted")


def _downloaded(plan: Plan, replicas: Sequence[Replica]) -> Finding:
    managed = {role.name for role in plan.deployment.spec.roles if role.managed}
    engines = [replica for replica in replicas if replica.role in managed]
    waiting = [replica for replica in engines if not replica.ready]
    missing = _desired(plan, managed_only=True) - len(engines)
    if waiting or missing > 0:
        first = f": Pod {waiting[0].name!r}{_because(waiting[0])}" if waiting else ""
        return _weights(
            FALSE,
            WeightsReason.DOWNLOADING,
            f"{len(waiting) + max(missing, 0)} engine Pods are not Ready yet; an engine reports no progress of its own"
            f"{first}",
        )
    return _weights(TRUE, WeightsReason.DOWNLOADED, "every engine Pod is Ready")


def _materializing(waiting: Iterable[Replica]) -> Finding | None:
    listed = [(replica, replica.node_model) for replica in waiting if replica.node_model is not None]
    # A failure is told before a download: it is the one that somebody may have to act on.
    for replica, model in listed:
        if model.state == ModelState.FAILED:
            retry = f"; it is tried again at {model.retry_time}" if model.retry_time else ""
            said = f": {model.message}" if model.message else ""
            return _weights(
                FALSE,
                WeightsReason.MATERIALIZATION_FAILED,
                f"node {replica.node!r} could not fetch the weights: {model.reason}{said}{retry}",
            )
    for replica, model in listed:
        if model.state == ModelState.DOWNLOADING:
            return _weights(
                FALSE, WeightsReason.MATERIALIZING, f"node {replica.node!r} downloads the weights{_progress(model)}"
            )
    return None


def _progress(model: StoredModel) -> str:
    if not model.size_bytes or model.downloaded_bytes is None:
        return ""
    return f": {model.downloaded_bytes * 100 // model.size_bytes} % of {model.size_bytes} bytes"


def _because(replica: Replica) -> str:
    return f" ({replica.trouble})" if replica.trouble else ""


def _weights(status: str, reason: str, message: str) -> Finding:
    return Finding(ConditionType.WEIGHTS_READY, status, reason, message)


def replicas_up_to_date(plan: Plan, replicas: Sequence[Replica]) -> Finding:
    """`ReplicasUpToDate`: whether every replica is of the current spec, rolling, or held by the weights."""
    current = {template.role.name: template.fingerprint for template in plan.templates}
    old = [replica for replica in replicas if current.get(replica.role, replica.fingerprint) != replica.fingerprint]
    missing = _desired(plan, managed_only=False) - len(replicas)
    if old and plan.blocked is not None:
        return _up_to_date(
            FALSE,
            UpToDateReason.ROLLOUT_HELD_BY_WEIGHTS,
            f"{len(old)} replicas are kept, since no other could be made now: {plan.blocked.message}",
        )
    if old:
        return _up_to_date(FALSE, UpToDateReason.ROLLING_OUT, f"{len(old)} replicas are of an earlier spec")
    if missing > 0 and plan.blocked is None:
        return _up_to_date(FALSE, UpToDateReason.ROLLING_OUT, f"{missing} replicas are still to be made")
    return _up_to_date(TRUE, UpToDateReason.UP_TO_DATE, "every replica is of the current spec")


def _up_to_date(status: str, reason: str, message: str) -> Finding:
    return Finding(ConditionType.REPLICAS_UP_TO_DATE, status, reason, message)


def phase(plan: Plan, replicas: Sequence[Replica], before: str | None) -> Phase:
    """The deployment at a glance. `before` is the phase stored last: what served once is Degraded, not Starting."""
    if plan.deployment.metadata.deletion_timestamp:
        return Phase.DELETING
    if sum(replica.ready for replica in replicas) >= _desired(plan, managed_only=False):
        return Phase.READY
    return Phase.DEGRADED if before in (Phase.READY, Phase.DEGRADED) else Phase.STARTING


def phase_message(plan: Plan, replicas: Sequence[Replica], weights: Finding, create_failure: str = "") -> str:
    """Why, for a person: the weights while nothing may be created, then what failed, then what is waited for."""
    if plan.blocked is not None:
        return plan.blocked.message
    if create_failure:
        return create_failure
    troubled = next((replica for replica in replicas if replica.trouble), None)
    if troubled is not None:
        return f"Pod {troubled.name!r}: {troubled.trouble}"
    ready, desired = sum(replica.ready for replica in replicas), _desired(plan, managed_only=False)
    if ready >= desired:
        return ""
    return f"{ready} of {desired} replicas are Ready" + ("" if weights.holds else f"; {weights.message}")


def ready_of_desired(plan: Plan, replicas: Sequence[Replica]) -> str:
    """Ready of desired replicas over all roles, such as `1/2`."""
    return f"{sum(replica.ready for replica in replicas)}/{_desired(plan, managed_only=False)}"


def _desired(plan: Plan, *, managed_only: bool) -> int:
    return sum(role.replicas for role in plan.deployment.spec.roles if role.managed or not managed_only)


def _total(plan: Plan, replicas: Sequence[Replica]) -> int:
    return max(_desired(plan, managed_only=False), len(replicas))
