"""Owns the plan of a deployment: what would be rendered, and whether it may be created now.

Refuses to hold a name, a place or a count of what exists; those are the world's, and are compared with this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpustack_models.core import placement
from gpustack_models.core.artifact import ModelArtifact, Resolved
from gpustack_models.core.delivery.decision import DELIVERY_MODE, delivery_of, deployment_blocks
from gpustack_models.core.delivery.pods import Subject, Template, pod, service, template
from gpustack_models.core.deployment import Delivery, DeployedModel, ModelDeployment
from gpustack_models.core.facts import Cluster
from gpustack_models.core.reasons import Blocked, WeightsReason
from gpustack_models.core.resource import JsonObject


@dataclass(frozen=True, slots=True)
class Plan:
    """A deployment, decided.

    `blocked` is the one reason why no Pod may be created, or None. `templates` has one entry for each role, also while
    blocked where they can be told (to see what a held rollout waits with); it is empty when they cannot.
    """

    deployment: ModelDeployment
    artifact: ModelArtifact | None
    delivery: Delivery | None
    blocked: Blocked | None
    templates: tuple[Template, ...]
    service: JsonObject
    model: DeployedModel | None


@dataclass(frozen=True, slots=True)
class Additions:
    """What is added to every Pod of one pass at its creation, outside the fingerprint."""

    required: tuple[Sequence[placement.Term] | None, ...] = ()
    warm: tuple[placement.Term | None, ...] = ()


def plan(deployment: ModelDeployment, artifact: ModelArtifact | None, cluster: Cluster) -> Plan:
    """Decide a deployment. `artifact` is the one that it names, None when it names none or that does not exist."""
    blocked = deployment_blocks(deployment, artifact, cluster)
    delivery = delivery_of(artifact, cluster.settings[DELIVERY_MODE]) if artifact is not None else None
    subject = Subject(deployment, artifact, delivery, cluster.settings)
    untold = blocked is not None and blocked.reason in (
        WeightsReason.ARTIFACT_NOT_FOUND,
        WeightsReason.ARTIFACT_NOT_RESOLVED,
    )
    return Plan(
        deployment=deployment,
        artifact=artifact,
        delivery=delivery,
        blocked=blocked,
        templates=() if untold else tuple(template(subject, role) for role in deployment.spec.roles),
        service=service(deployment),
        model=_echo(deployment, artifact, delivery),
    )


def _echo(
    deployment: ModelDeployment, artifact: ModelArtifact | None, delivery: Delivery | None
) -> DeployedModel | None:
    reference = deployment.spec.model.artifact_ref
    if reference is None:
        return None
    if artifact is None:
        return DeployedModel(artifact=reference.name)
    resolved = artifact.status.resolved or Resolved()
    members = {
        "artifact": reference.name,
        "revision": resolved.revision,
        "manifest_digest": resolved.manifest_digest,
        "delivery": delivery,
    }
    return DeployedModel(**{name: value for name, value in members.items() if value is not None})


def additions(of: Plan, cluster: Cluster) -> Additions:
    """What a pass that creates Pods adds to each of them (workloads.md, "At creation, outside the fingerprint").

    Computed once in a pass: Kueue keeps one Pod's spec for a set.
    """
    if of.artifact is None or of.delivery is None:
        return Additions()
    return additions_for(of.artifact, of.delivery, cluster)


def additions_for(artifact: ModelArtifact, delivery: Delivery, cluster: Cluster) -> Additions:
    """What one artifact adds to the Pods that mount it."""
    source = artifact.spec.source
    if source.persistent_volume_claim is not None:
        return Additions(
            required=(placement.claim_terms(cluster.claims.get(source.persistent_volume_claim.claim_name)),)
        )
    if source.image is not None:
        return Additions(warm=(placement.preferred(placement.image_holders(source.image.reference, cluster.nodes)),))
    if delivery is Delivery.NODE:
        digest = (artifact.status.resolved or Resolved()).manifest_digest or ""
        return Additions(warm=(placement.preferred(placement.holders(digest, cluster.nodes)),))
    return Additions()


def replica(of: Plan, role: Template, ordinal: int, suffix: str, added: Additions) -> JsonObject:
    """One Pod as it is created."""
    return placement.placed(pod(of.deployment, role, ordinal, suffix), added.required, added.warm)


def lost_weights(rendered: JsonObject, created: JsonObject) -> str:
    """Why a created Pod would run without its weights, or an empty string.

    An API server whose ImageVolume gate is closed drops the field silently (workloads.md). `created` is the Pod as the
    API server returned it for `rendered`.
    """
    kept = {volume["name"] for volume in created["spec"].get("volumes") or () if "image" in volume}
    wanted = [volume["name"] for volume in rendered["spec"].get("volumes") or () if "image" in volume]
    if kept.issuperset(wanted):
        return ""
    return (
        f"the API server dropped the image volume of Pod {created['metadata']['name']!r}: its ImageVolume feature gate "
        "is closed; open it, or use another source"
    )
