"""Owns a ModelArtifact's conditions: the first resolution, the staircase of revalidation, the anchor, the next check.

Refuses to ask a hub: outcomes are handed in, and what they mean is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpustack_models.core.artifact import ModelArtifact, NodeCounts
from gpustack_models.core.nodestore import ModelState, NodeModelStore
from gpustack_models.core.reasons import ConditionType
from gpustack_models.core.status.conditions import FALSE, TRUE, UNKNOWN, Finding, found
from gpustack_models.errors import Reason

#: Seconds to the next check (model-artifact.md "Resolution and revalidation", hubs.md "Pacing").
AFTER_REFUSAL = 600.0
AFTER_DOUBT = 60.0

RESOLVING = "Resolving"
HEALTHY = "Healthy"
EXPECTED = "Expected"
HUB = "Hub"
PERCENT_STEP = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pass over the source ended with. `RESOLVED` is success.

    `secret_unreadable` is the cluster's failure to answer for the Secret: no verdict, as a silent hub gives none, but
    the hub was not even asked. (The Secret's absence is the reason `SecretNotFound`.)
    """

    reason: Reason
    message: str = ""
    secret_unreadable: bool = False

    @property
    def silent(self) -> bool:
        """Whether nobody said yes or no."""
        return self.reason is Reason.SOURCE_UNAVAILABLE or self.secret_unreadable

    @property
    def word(self) -> str:
        """The condition's reason."""
        return Reason.SOURCE_UNAVAILABLE if self.secret_unreadable else self.reason


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a pass means: the two conditions, whether the anchor becomes the identity, when to check again.

    `next_check` is in seconds; None is never.
    """

    resolved: Finding
    degraded: Finding
    adopt_anchor: bool = False
    next_check: float | None = None


def judge(artifact: ModelArtifact, outcome: Outcome, interval: float) -> Verdict:
    """What an outcome means for a hub artifact, given what its status says of the passes before.

    `interval` is the Setting `model-artifact-revalidate-interval`, in seconds.
    """
    if is_anchored(artifact):
        return Verdict(resolved_by_anchor(artifact), healthy())
    if outcome.reason is Reason.RESOLVED:
        return Verdict(_resolved_from_hub(outcome), healthy(), next_check=interval)
    if _falls_back(artifact, outcome):
        return Verdict(resolved_by_anchor(artifact), healthy(), adopt_anchor=True)
    finding = resolved(artifact, outcome)
    refused = finding.status == FALSE and not outcome.silent
    return Verdict(finding, degraded(outcome), next_check=AFTER_REFUSAL if refused else AFTER_DOUBT)


def is_anchored(artifact: ModelArtifact) -> bool:
    """Whether the identity is the spec's anchor: no request is ever sent for such an artifact again."""
    known = artifact.status.resolved
    return known is not None and known.digest_source == EXPECTED


def has_identity(artifact: ModelArtifact) -> bool:
    """Whether the source was resolved before; what is checked from then on is access alone."""
    known = artifact.status.resolved
    return known is not None and bool(known.manifest_digest)


def resolving() -> Finding:
    """`Resolved` before the first answer."""
    return Finding(ConditionType.RESOLVED, UNKNOWN, RESOLVING, "the source has not answered yet")


def resolved(artifact: ModelArtifact, outcome: Outcome) -> Finding:
    """`Resolved` after a failed pass.

    Before there is an identity, every failure is an answer. Afterwards the second equal refusal in a row revokes it; a
    Secret that is gone, or has no token, does so at once; silence never does.
    """
    failed = Finding(ConditionType.RESOLVED, FALSE, outcome.word, outcome.message)
    if not has_identity(artifact):
        return replace(failed, status=UNKNOWN) if outcome.secret_unreadable else failed
    if outcome.reason is Reason.SECRET_NOT_FOUND:
        return failed
    doubt = found(artifact.status.conditions, ConditionType.DEGRADED)
    if not outcome.silent and doubt is not None and doubt.holds and doubt.reason == outcome.word:
        return failed
    return found(artifact.status.conditions, ConditionType.RESOLVED) or resolving()


def degraded(outcome: Outcome) -> Finding:
    """`Degraded` after a failed pass."""
    return Finding(ConditionType.DEGRADED, TRUE, outcome.word, outcome.message)


def healthy() -> Finding:
    """`Degraded` while nothing is wrong."""
    return Finding(ConditionType.DEGRADED, FALSE, HEALTHY)


def claim_verdict(claim_name: str, *, exists: bool) -> Verdict:
    """A claim artifact is resolved by its claim existing; nothing is read from it, and nothing is asked again."""
    if exists:
        message = f"PersistentVolumeClaim {claim_name!r} exists; the operator does not read its content"
        return Verdict(Finding(ConditionType.RESOLVED, TRUE, Reason.RESOLVED, message), healthy())
    message = f"PersistentVolumeClaim {claim_name!r} does not exist in this namespace; create it"
    outcome = Outcome(Reason.CLAIM_NOT_FOUND, message)
    return Verdict(Finding(ConditionType.RESOLVED, FALSE, outcome.word, message), degraded(outcome))


def image_verdict() -> Verdict:
    """An image artifact is resolved by its reference; nothing is asked (workloads.md, "Image artifacts")."""
    message = "the reference's digest is the identity; the operator does not read the image"
    return Verdict(Finding(ConditionType.RESOLVED, TRUE, Reason.RESOLVED, message), healthy())


def resolved_by_anchor(artifact: ModelArtifact) -> Finding:
    """`Resolved` under an `Expected` identity."""
    return Finding(
        ConditionType.RESOLVED,
        TRUE,
        Reason.RESOLVED,
        f"the hub did not answer; expectedDigest {artifact.spec.expected_digest} is the identity, and nodes take the "
        "content from each other",
    )


def _resolved_from_hub(outcome: Outcome) -> Finding:
    return Finding(ConditionType.RESOLVED, TRUE, Reason.RESOLVED, outcome.message)


def _falls_back(artifact: ModelArtifact, outcome: Outcome) -> bool:
    # Only a hub that does not answer is anchored around, and only when it did not the last time either.
    if artifact.spec.expected_digest is None or has_identity(artifact) or outcome.secret_unreadable:
        return False
    before = found(artifact.status.conditions, ConditionType.RESOLVED)
    silent_before = before is not None and before.status == FALSE and before.reason == Reason.SOURCE_UNAVAILABLE
    return outcome.reason is Reason.SOURCE_UNAVAILABLE and silent_before


def node_counts(digest: str, stores: Iterable[NodeModelStore]) -> NodeCounts:
    """`status.nodes`: how many nodes list a digest in each state, and the downloading ones' mean, down to 5 %."""
    counts = dict.fromkeys(ModelState, 0)
    percents: list[float] = []
    for store in stores:
        for model in store.status.models:
            if model.digest == digest:
                state = ModelState(model.state)
                counts[state] += 1
                if state is ModelState.DOWNLOADING:
                    percents.append(100 * (model.downloaded_bytes or 0) / model.size_bytes if model.size_bytes else 0)
    mean = int(sum(percents) / len(percents)) if percents else None
    return NodeCounts(
        ready=counts[ModelState.READY],
        downloading=counts[ModelState.DOWNLOADING],
        failed=counts[ModelState.FAILED],
        **({} if mean is None else {"downloading_percent": min(mean - mean % PERCENT_STEP, 100)}),
    )
