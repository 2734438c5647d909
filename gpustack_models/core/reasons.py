"""Owns the words of the workloads' conditions: their types and reasons, and the one reason why nothing may be made.

Refuses the reasons of a resolution or of the store; those are in `errors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ConditionType(StrEnum):
    """The conditions of a ModelArtifact and of a ModelDeployment."""

    RESOLVED = "Resolved"
    DEGRADED = "Degraded"
    WEIGHTS_READY = "WeightsReady"
    REPLICAS_UP_TO_DATE = "ReplicasUpToDate"


class WeightsReason(StrEnum):
    """The reasons of `WeightsReady` (model-artifact.md, "Status"), in the order in which they are judged."""

    NOT_APPLICABLE = "NotApplicable"
    ARTIFACT_NOT_FOUND = "ArtifactNotFound"
    ARTIFACT_NOT_RESOLVED = "ArtifactNotResolved"
    CLAIM_NOT_BOUND = "ClaimNotBound"
    ACCESS_MODE_CONFLICT = "AccessModeConflict"
    NODE_DELIVERY_UNAVAILABLE = "NodeDeliveryUnavailable"
    FILTER_NEEDS_NODE_DELIVERY = "FilterNeedsNodeDelivery"
    ANCHOR_NEEDS_NODE_DELIVERY = "AnchorNeedsNodeDelivery"
    #: This project's own: a ModelScope endpoint that its SDK cannot be given (engines.md, "Values").
    ENDPOINT_NEEDS_NODE_DELIVERY = "EndpointNeedsNodeDelivery"
    MATERIALIZING = "Materializing"
    MATERIALIZATION_FAILED = "MaterializationFailed"
    WEIGHTS_NOT_MOUNTED = "WeightsNotMounted"
    DOWNLOADING = "Downloading"
    MOUNTED = "Mounted"
    DOWNLOADED = "Downloaded"


class UpToDateReason(StrEnum):
    """The reasons of `ReplicasUpToDate` (workloads.md, "ModelDeployment")."""

    UP_TO_DATE = "UpToDate"
    ROLLING_OUT = "RollingOut"
    ROLLOUT_HELD_BY_WEIGHTS = "RolloutHeldByWeights"


class WaitReason(StrEnum):
    """Why an Instance waits, beside the reasons of `WeightsReady` (workloads.md, "Instance")."""

    NODE_NOT_FOUND = "NodeNotFound"
    NODE_CANNOT_MOUNT_IMAGES = "NodeCannotMountImages"


@dataclass(frozen=True, slots=True)
class Blocked:
    """The one reason why nothing may be created, and a sentence for a person: the object, why, the next step."""

    reason: WeightsReason | WaitReason
    message: str
