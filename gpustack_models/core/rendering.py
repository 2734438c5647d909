"""Owns what rendering shows of a workload: the Pods, the Service, and the status that the operator would write first.

Refuses random names and clocks: the same objects render to the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.delivery.instances import plan_instance
from gpustack_models.core.delivery.plan import Plan, additions, plan, replica
from gpustack_models.core.delivery.pods import endpoint
from gpustack_models.core.delivery.weights import identity_of_uid
from gpustack_models.core.deployment import ModelDeployment
from gpustack_models.core.facts import Cluster
from gpustack_models.core.given import NO_UID, Given, Stated, claims, cluster, namespace_of
from gpustack_models.core.instance import Instance
from gpustack_models.core.reasons import Blocked, ConditionType
from gpustack_models.core.resource import JsonObject, Resource, condition
from gpustack_models.core.status.artifact import Verdict, claim_verdict, image_verdict, resolving
from gpustack_models.core.status.conditions import Finding
from gpustack_models.core.status.deployment import (
    Replica,
    phase,
    phase_message,
    ready_of_desired,
    replicas_up_to_date,
    weights_ready,
)
from gpustack_models.core.status.instance import instance_phase

#: Digits of the fingerprint that stand for the random suffix of a replica's name.
SUFFIX = 5


@dataclass(frozen=True, slots=True)
class Rendered:
    """One workload: what would be created, its status, and the one reason why nothing may be (or None)."""

    workload: Resource
    created: tuple[JsonObject, ...]
    status: JsonObject
    blocked: Blocked | None = None


def with_status(given: Given, stated: Stated) -> Given:
    """The objects with the status of each claim and image artifact that has none: what its first pass would write."""
    artifacts = []
    for artifact in given.every(ModelArtifact):
        if condition(artifact.status.conditions, ConditionType.RESOLVED) is None:
            verdict = _first_verdict(artifact, given, stated)
            if verdict is not None:
                artifacts.append(resolved_by(artifact, verdict))
    return given.with_artifacts(artifacts)


def _first_verdict(artifact: ModelArtifact, given: Given, stated: Stated) -> Verdict | None:
    source = artifact.spec.source
    if source.persistent_volume_claim is not None:
        name = source.persistent_volume_claim.claim_name
        known = claims(given, stated, namespace_of(artifact))
        return claim_verdict(name, exists=known.get(name) is not None)
    return image_verdict() if source.image is not None else None


def resolved_by(artifact: ModelArtifact, verdict: Verdict, resolved: JsonObject | None = None) -> ModelArtifact:
    """The artifact with a verdict in its status, and with what it resolved to when that is new."""
    status = artifact.status.to_object()
    status["conditions"] = [_condition(each) for each in (verdict.degraded, verdict.resolved)]
    if resolved is not None:
        status["resolved"] = resolved
    if verdict.adopt_anchor:
        status["resolved"] = {"manifestDigest": artifact.spec.expected_digest, "digestSource": "Expected"}
    return type(artifact).parse({**artifact.to_object(), "status": status})


def render(given: Given, stated: Stated) -> Iterator[Rendered]:
    """Every deployment and Instance, by namespace and name."""
    for deployment in given.every(ModelDeployment):
        namespace = namespace_of(deployment)
        reference = deployment.spec.model.artifact_ref
        artifact = given.artifacts(namespace).get(reference.name) if reference is not None else None
        yield _deployment(deployment, artifact, cluster(given, stated, namespace))
    for instance in given.every(Instance):
        namespace = namespace_of(instance)
        yield _instance(instance, given.artifacts(namespace), cluster(given, stated, namespace))


def leans_on_no_uid(rendered: Iterable[Rendered]) -> bool:
    """Whether anything to be created holds the stand-in for an artifact's UID, as it is or as the KV identity."""
    text = repr([each.created for each in rendered])
    return NO_UID in text or identity_of_uid(NO_UID) in text


def artifact_statuses(given: Given) -> Iterator[JsonObject]:
    """The status of every artifact, by namespace and name."""
    for artifact in given.every(ModelArtifact):
        status = artifact.status.to_object()
        conditions = [_without_time(each.to_object()) for each in artifact.status.conditions]
        status["conditions"] = conditions or [_condition(resolving())]
        yield _status_of(artifact, status)


def _deployment(deployment: ModelDeployment, artifact: ModelArtifact | None, facts: Cluster) -> Rendered:
    planned = plan(deployment, artifact, facts)
    pods = () if planned.blocked is not None else tuple(_replicas(planned, facts))
    created = (*pods, planned.service) if planned.blocked is None else ()
    return Rendered(deployment, created, _deployment_status(planned, pods), planned.blocked)


def _replicas(planned: Plan, facts: Cluster) -> Iterator[JsonObject]:
    added = additions(planned, facts)
    for template in planned.templates:
        for ordinal in range(template.role.replicas):
            yield replica(planned, template, ordinal, template.fingerprint[:SUFFIX], added)


def _deployment_status(planned: Plan, pods: tuple[JsonObject, ...]) -> JsonObject:
    current = {template.role.name: template.fingerprint for template in planned.templates}
    replicas = [_replica(pod, current) for pod in pods]
    weights = weights_ready(planned, replicas)
    status: JsonObject = {
        "phase": phase(planned, replicas, None).value,
        "phaseMessage": phase_message(planned, replicas, weights),
        "ready": ready_of_desired(planned, replicas),
        "roles": [
            {"name": role.name, "kind": role.kind.value, "desired": role.replicas, "ready": 0}
            for role in planned.deployment.spec.roles
        ],
        "endpoint": endpoint(planned.deployment),
        "conditions": [_condition(replicas_up_to_date(planned, replicas)), _condition(weights)],
    }
    if planned.model is not None:
        status["model"] = planned.model.to_object()
    return _status_of(planned.deployment, status)


def _replica(pod: JsonObject, current: dict[str, str]) -> Replica:
    role = pod["metadata"]["labels"]["app.kubernetes.io/component"]
    return Replica(pod["metadata"]["name"], role, current[role])


def _instance(instance: Instance, artifacts: dict[str, ModelArtifact], facts: Cluster) -> Rendered:
    planned = plan_instance(instance, artifacts, facts)
    now, message = instance_phase(instance, planned, None)
    status: JsonObject = {"phase": now.value}
    if message:
        status["phaseMessage"] = message
    if planned.pod is not None:
        status["podName"] = instance.name
    created = (planned.pod,) if planned.pod is not None else ()
    return Rendered(instance, created, _status_of(instance, status), planned.blocked)


def _status_of(resource: Resource, status: JsonObject) -> JsonObject:
    return {
        "apiVersion": resource.KIND.api_version,
        "kind": resource.KIND.kind,
        "metadata": {"name": resource.name, "namespace": namespace_of(resource)},
        "status": status,
    }


def _condition(finding: Finding) -> JsonObject:
    return {
        "type": finding.type.value,
        "status": finding.status,
        "reason": str(finding.reason),
        "message": finding.message,
    }


def _without_time(stored: JsonObject) -> JsonObject:
    return {name: value for name, value in stored.items() if name not in ("lastTransitionTime", "observedGeneration")}
