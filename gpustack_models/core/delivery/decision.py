"""Owns the decision: how an artifact's weights are delivered, and the one reason why no Pod may be created.

Refuses to render; the reasons are judged in the order of the specification's `WeightsReady` table.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from gpustack_models.core.artifact import ModelArtifact, Resolved
from gpustack_models.core.deployment import Delivery, ModelDeployment
from gpustack_models.core.facts import Cluster
from gpustack_models.core.nodestore import DRIVER
from gpustack_models.core.placement import claim_blocks
from gpustack_models.core.reasons import Blocked, ConditionType, WeightsReason
from gpustack_models.core.resource import condition

DELIVERY_MODE = "model-artifact-delivery-mode"
MODELSCOPE_ENDPOINT = "model-artifact-modelscope-endpoint"
_SWITCH = f"set {DELIVERY_MODE} to Node"


def delivery_of(artifact: ModelArtifact, mode: str) -> Delivery:
    """How a deployment gets an artifact: a hub's by the Setting, a claim and an image always directly."""
    source = artifact.spec.source
    if source.persistent_volume_claim is not None:
        return Delivery.PVC
    return Delivery.IMAGE if source.image is not None else Delivery(mode)


def deployment_blocks(deployment: ModelDeployment, artifact: ModelArtifact | None, cluster: Cluster) -> Blocked | None:
    """Why no Pod of a deployment may be created, or None (model-artifact.md, "Status")."""
    reference = deployment.spec.model.artifact_ref
    if reference is None:
        return None
    if artifact is None:
        return artifact_missing(reference.name)
    if blocked := unresolved(artifact):
        return blocked
    delivery = delivery_of(artifact, cluster.settings[DELIVERY_MODE])
    if delivery is Delivery.PVC:
        return claim_of(artifact, cluster, sum(role.replicas for role in deployment.spec.roles))
    if delivery is Delivery.NODE:
        return driver_missing(artifact, cluster)
    if delivery is Delivery.ENGINE:
        return _engine_blocks(artifact, deployment, cluster)
    return None


def artifact_missing(name: str) -> Blocked:
    """The block of a reference to nothing."""
    return Blocked(
        WeightsReason.ARTIFACT_NOT_FOUND, f"ModelArtifact {name!r} does not exist in this namespace; create it"
    )


def unresolved(artifact: ModelArtifact) -> Blocked | None:
    """The block of an artifact that is not resolved now; the message carries the artifact's own reason."""
    found = condition(artifact.status.conditions, ConditionType.RESOLVED)
    if found is not None and found.status == "True" and _has_identity(artifact):
        return None
    said = "it has not been resolved yet"
    if found is not None and found.status != "True":
        said = f"{found.reason}: {found.message}" if found.message else found.reason
    return Blocked(WeightsReason.ARTIFACT_NOT_RESOLVED, f"ModelArtifact {artifact.name!r} is not resolved: {said}")


def _has_identity(artifact: ModelArtifact) -> bool:
    resolved = artifact.status.resolved
    return artifact.spec.source.hub is None or (resolved is not None and bool(resolved.manifest_digest))


def claim_of(artifact: ModelArtifact, cluster: Cluster, pods: int) -> Blocked | None:
    """The block of a claim artifact whose claim `pods` Pods would mount."""
    source = artifact.spec.source.persistent_volume_claim
    if source is None:
        return None
    return claim_blocks(source.claim_name, cluster.claims.get(source.claim_name), pods)


def driver_missing(artifact: ModelArtifact, cluster: Cluster) -> Blocked | None:
    """The block of a hub artifact that the node plugin must mount, while there is no plugin."""
    if cluster.csi_driver:
        return None
    return Blocked(
        WeightsReason.NODE_DELIVERY_UNAVAILABLE,
        f"ModelArtifact {artifact.name!r} is mounted by the node plugin, but CSIDriver {DRIVER} does not exist; "
        "install the node plugin",
    )


def _engine_blocks(artifact: ModelArtifact, deployment: ModelDeployment, cluster: Cluster) -> Blocked | None:
    name, spec = artifact.name, artifact.spec
    if spec.patterns:
        return Blocked(
            WeightsReason.FILTER_NEEDS_NODE_DELIVERY,
            f"ModelArtifact {name!r} has file patterns, which an engine's own download cannot honor; {_SWITCH}",
        )
    if spec.expected_digest is not None:
        return Blocked(
            WeightsReason.ANCHOR_NEEDS_NODE_DELIVERY,
            f"ModelArtifact {name!r} has an expectedDigest, which an engine's own download cannot verify; {_SWITCH}",
        )
    if not (artifact.status.resolved or Resolved()).revision:
        return Blocked(
            WeightsReason.ANCHOR_NEEDS_NODE_DELIVERY,
            f"ModelArtifact {name!r} has no resolved commit, and an engine's own download would follow a branch; "
            f"{_SWITCH}",
        )
    if spec.source.model_scope is not None and any(role.managed for role in deployment.spec.roles):
        return _endpoint_blocks(name, cluster.settings[MODELSCOPE_ENDPOINT])
    return None


def _endpoint_blocks(name: str, endpoint: str) -> Blocked | None:
    parts = urlsplit(endpoint)
    if parts.scheme == "https" and parts.path in ("", "/"):
        return None
    wrong = "is http" if parts.scheme != "https" else "has a path"
    return Blocked(
        WeightsReason.ENDPOINT_NEEDS_NODE_DELIVERY,
        f"ModelArtifact {name!r} cannot be downloaded by the engine: {MODELSCOPE_ENDPOINT} {endpoint} {wrong}, and "
        f"the engine's SDK takes a bare host and puts https:// before it; set an https endpoint without a path, or "
        f"{_SWITCH}",
    )
