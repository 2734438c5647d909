"""Owns what each reason of each condition means, for the reference: one row per status and reason.

Refuses a reason that nothing writes; a test holds the table and the enumerations together.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpustack_models.core.nodestore import DRIVER
from gpustack_models.core.reasons import UpToDateReason, WaitReason, WeightsReason
from gpustack_models.errors import Reason


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """One row: the condition, its status, the reason, and what it means to a person."""

    condition: str
    status: str
    reason: str
    meaning: str


_NEVER = "no new Pod is created"

_RESOLVED = (
    ("True", Reason.RESOLVED, "The source is pinned: new Pods may use it."),
    ("Unknown", "Resolving", "The first answer is still to come."),
    ("False", Reason.REVISION_NOT_FOUND, "The revision, branch or tag does not exist. Asked again every ten minutes."),
    (
        "False",
        Reason.ACCESS_DENIED,
        "The repository does not exist, is private and the token cannot read it, or is gated without a grant. Asked "
        "again every ten minutes, since a grant changes no object here.",
    ),
    (
        "False",
        Reason.SOURCE_UNAVAILABLE,
        "The hub is unreachable, erroring or rate-limiting, or lists what cannot be trusted. Asked again every minute.",
    ),
    ("False", Reason.SECRET_NOT_FOUND, "The Secret does not exist, or has no key `token`."),
    ("False", Reason.CLAIM_NOT_FOUND, "The PersistentVolumeClaim does not exist."),
    ("False", Reason.EMPTY_MANIFEST, "The commit has no file, or the patterns keep none."),
    (
        "False",
        Reason.INVALID_MANIFEST,
        "The hub lists a file that cannot be named exactly: a path, a size or a digest.",
    ),
    ("False", Reason.MANIFEST_TOO_LARGE, "The listing is larger than what is read: 16 MiB a page, 100,000 entries."),
    (
        "False",
        Reason.DIGEST_MISMATCH,
        "The source resolves to another digest than `expectedDigest`; both are in the message.",
    ),
)
_DEGRADED = (
    ("False", "Healthy", "The last check of access succeeded."),
    ("True", Reason.ACCESS_DENIED, "Access was refused once; the same refusal a minute later sets `Resolved=False`."),
    ("True", Reason.REVISION_NOT_FOUND, "The pinned commit was not found once; a second time sets `Resolved=False`."),
    ("True", Reason.DIGEST_MISMATCH, "The pinned content is no longer served; a second time sets `Resolved=False`."),
    (
        "True",
        Reason.SOURCE_UNAVAILABLE,
        "The hub does not answer, or the Secret cannot be read. Pinned weights stay usable.",
    ),
)
_WEIGHTS = (
    ("True", WeightsReason.NOT_APPLICABLE, "The deployment names no artifact."),
    ("False", WeightsReason.ARTIFACT_NOT_FOUND, f"The ModelArtifact does not exist; {_NEVER}."),
    ("False", WeightsReason.ARTIFACT_NOT_RESOLVED, f"It is not resolved; {_NEVER}. The message carries its reason."),
    ("False", WeightsReason.CLAIM_NOT_BOUND, f"The claim is not bound, and a Pod would not bind it; {_NEVER}."),
    (
        "False",
        WeightsReason.ACCESS_MODE_CONFLICT,
        f"More than one Pod mounts a claim with neither `ReadOnlyMany` nor `ReadWriteMany`; {_NEVER}.",
    ),
    ("False", WeightsReason.NODE_DELIVERY_UNAVAILABLE, f"`Node` delivery without the CSIDriver `{DRIVER}`; {_NEVER}."),
    (
        "False",
        WeightsReason.FILTER_NEEDS_NODE_DELIVERY,
        f"Patterns under `Engine` delivery, which cannot honour them; {_NEVER}.",
    ),
    (
        "False",
        WeightsReason.ANCHOR_NEEDS_NODE_DELIVERY,
        f"`expectedDigest` under `Engine` delivery, which cannot verify it; {_NEVER}.",
    ),
    (
        "False",
        WeightsReason.ENDPOINT_NEEDS_NODE_DELIVERY,
        f"A ModelScope endpoint that is not https, under `Engine` delivery: its SDK always dials https; {_NEVER}.",
    ),
    ("False", WeightsReason.MATERIALIZING, "A Pod is not mounted yet, and its node downloads the digest."),
    (
        "False",
        WeightsReason.MATERIALIZATION_FAILED,
        "The same, and the node's attempt failed: its reason and retry time.",
    ),
    ("False", WeightsReason.WEIGHTS_NOT_MOUNTED, "A Pod's volumes are not mounted yet; the Pod's events say why."),
    (
        "False",
        WeightsReason.DOWNLOADING,
        "An engine that downloads is not Ready yet; it reports no progress of its own.",
    ),
    ("True", WeightsReason.MOUNTED, "Every Pod has its weights mounted."),
    ("True", WeightsReason.DOWNLOADED, "Every engine has downloaded its weights."),
)
_UP_TO_DATE = (
    ("True", UpToDateReason.UP_TO_DATE, "Every replica is of the current spec."),
    ("False", UpToDateReason.ROLLING_OUT, "Replicas are being replaced, one at a time."),
    ("False", UpToDateReason.ROLLOUT_HELD_BY_WEIGHTS, "Nothing is replaced while a replacement could not be made."),
)
_WAITS = (
    ("-", WaitReason.NODE_NOT_FOUND, "The node that the Instance is pinned to does not exist."),
    (
        "-",
        WaitReason.NODE_CANNOT_MOUNT_IMAGES,
        "That node cannot mount an image: kubelet 1.35 and containerd 2.1 are needed.",
    ),
)
_STORE_READY = (
    ("True", "Serving", "The store serves what is published, and downloads."),
    (
        "False",
        "InvalidConfiguration",
        "The spec cannot be executed: nothing is downloaded or collected; what is published is served.",
    ),
)
_CAPACITY_LOW = (
    ("True", "NothingToRemove", "Only pinned and referenced models are left above the watermark."),
    ("False", "WithinWatermarks", "There is room, or something to remove."),
)
_ATTEMPT = (
    ("-", Reason.INVALID_REQUEST, "The configuration cannot be executed: an invalid endpoint, proxy or CA."),
    ("-", Reason.ACCESS_DENIED, "The hub refused the credential."),
    (
        "-",
        Reason.SOURCE_UNAVAILABLE,
        "The hub is unreachable or erring, ranges keep failing, or no node holds an `Expected` digest.",
    ),
    ("-", Reason.INTEGRITY_MISMATCH, "A hash, a size or the manifest's digest does not match."),
    ("-", Reason.INSUFFICIENT_CAPACITY, "The reservation does not fit, even after a collection."),
    ("-", Reason.CANCELED, "Nobody asked for it for five minutes."),
)


def _rows(condition: str, rows: tuple[tuple[str, str, str], ...]) -> tuple[ReasonRow, ...]:
    return tuple(ReasonRow(condition, status, str(reason), meaning) for status, reason, meaning in rows)


#: The reasons by kind, in the order of the reference.
REASONS: dict[str, tuple[ReasonRow, ...]] = {
    "ModelArtifact": (*_rows("Resolved", _RESOLVED), *_rows("Degraded", _DEGRADED)),
    "ModelDeployment": (*_rows("WeightsReady", _WEIGHTS), *_rows("ReplicasUpToDate", _UP_TO_DATE)),
    "Instance": _rows("`status.phaseMessage`, beside the reasons of WeightsReady", _WAITS),
    "NodeModelStore": (
        *_rows("Ready", _STORE_READY),
        *_rows("CapacityLow", _CAPACITY_LOW),
        *_rows("`status.models[].reason`", _ATTEMPT),
    ),
    "Setting": (),
}
