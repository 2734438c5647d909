"""Owns an Instance's phase and its message, from its plan and its Pod.

Refuses to read a Pod's logs or events; what is wrong with a Pod is handed in.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpustack_models.core.delivery.instances import InstancePlan
from gpustack_models.core.instance import Instance, InstancePhase


@dataclass(frozen=True, slots=True)
class InstancePod:
    """The Instance's Pod. `phase` is its own (core/v1 PodPhase); `trouble` what kubelet or scheduler say is wrong."""

    phase: str
    ready: bool = False
    node: str = ""
    terminating: bool = False
    trouble: str = ""


def instance_phase(instance: Instance, plan: InstancePlan, pod: InstancePod | None) -> tuple[InstancePhase, str]:
    """The phase and its message: why it waits, while it waits (workloads.md, "Instance")."""
    if instance.metadata.deletion_timestamp:
        return InstancePhase.DELETING, ""
    if instance.spec.stop:
        return InstancePhase.STOPPED, "" if pod is None else f"Pod {instance.name!r} is still ending"
    if pod is not None and pod.terminating:
        return InstancePhase.PENDING, f"Pod {instance.name!r} is still ending; it is made again after that"
    if pod is None:
        return InstancePhase.PENDING, plan.blocked.message if plan.blocked is not None else ""
    if pod.phase in ("Failed", "Succeeded"):
        return InstancePhase.FAILED, pod.trouble or f"Pod {instance.name!r} ended ({pod.phase}); it is made again"
    if pod.phase == "Running":
        return (InstancePhase.RUNNING if pod.ready else InstancePhase.STARTING), pod.trouble
    return (InstancePhase.STARTING if pod.node else InstancePhase.PENDING), pod.trouble
