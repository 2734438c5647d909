"""Owns the staircase of an artifact: each step of the specification, as a sequence of outcomes and what they mean.

Refuses a clock; the next check is a number of seconds.
"""

from __future__ import annotations

from typing import Any

import pytest

from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.nodestore import NodeModelStore
from gpustack_models.core.status.artifact import (
    Outcome,
    Verdict,
    claim_verdict,
    image_verdict,
    judge,
    node_counts,
    resolving,
)
from gpustack_models.core.status.conditions import written
from gpustack_models.errors import Reason

DIGEST = "sha256:" + "a" * 64
DAY, TEN_MINUTES, MINUTE = 86400.0, 600.0, 60.0
OK = Outcome(Reason.RESOLVED, "10 files")
DENIED = Outcome(Reason.ACCESS_DENIED, "denied")
NOT_FOUND = Outcome(Reason.REVISION_NOT_FOUND, "gone")
DOWN = Outcome(Reason.SOURCE_UNAVAILABLE, "down")
NO_SECRET = Outcome(Reason.SECRET_NOT_FOUND, "no Secret")
UNREADABLE = Outcome(Reason.SOURCE_UNAVAILABLE, "the Secret could not be read", secret_unreadable=True)
MISMATCH = Outcome(Reason.DIGEST_MISMATCH, "another digest")

Step = tuple[Outcome, str, str, str, float | None]
#: Whether the artifact has an anchor, and the steps: outcome, Resolved, its reason, Degraded, the next check.
STAIRS: dict[str, tuple[bool, list[Step]]] = {
    "resolves": (False, [(OK, "True", "Resolved", "Healthy", DAY)]),
    "first-refusal": (False, [(DENIED, "False", "AccessDenied", "AccessDenied", TEN_MINUTES)]),
    "first-silence": (
        False,
        [
            (DOWN, "False", "SourceUnavailable", "SourceUnavailable", MINUTE),
            (DOWN, "False", "SourceUnavailable", "SourceUnavailable", MINUTE),
            (OK, "True", "Resolved", "Healthy", DAY),
        ],
    ),
    "first-without-a-secret": (False, [(NO_SECRET, "False", "SecretNotFound", "SecretNotFound", TEN_MINUTES)]),
    "first-mismatch": (True, [(MISMATCH, "False", "DigestMismatch", "DigestMismatch", TEN_MINUTES)]),
    "refused-twice-alike": (
        False,
        [
            (OK, "True", "Resolved", "Healthy", DAY),
            (DENIED, "True", "Resolved", "AccessDenied", MINUTE),
            (DENIED, "False", "AccessDenied", "AccessDenied", TEN_MINUTES),
            (OK, "True", "Resolved", "Healthy", DAY),
        ],
    ),
    "refused-twice-differently": (
        False,
        [
            (OK, "True", "Resolved", "Healthy", DAY),
            (DENIED, "True", "Resolved", "AccessDenied", MINUTE),
            (NOT_FOUND, "True", "Resolved", "RevisionNotFound", MINUTE),
            (NOT_FOUND, "False", "RevisionNotFound", "RevisionNotFound", TEN_MINUTES),
        ],
    ),
    "refused-once": (
        False,
        [
            (OK, "True", "Resolved", "Healthy", DAY),
            (DENIED, "True", "Resolved", "AccessDenied", MINUTE),
            (OK, "True", "Resolved", "Healthy", DAY),
            (DENIED, "True", "Resolved", "AccessDenied", MINUTE),
        ],
    ),
    "an-outage-never-revokes": (
        True,
        [
            (OK, "True", "Resolved", "Healthy", DAY),
            (DOWN, "True", "Resolved", "SourceUnavailable", MINUTE),
            (DOWN, "True", "Resolved", "SourceUnavailable", MINUTE),
            (UNREADABLE, "True", "Resolved", "SourceUnavailable", MINUTE),
        ],
    ),
    "an-outage-keeps-a-refusal": (
        False,
        [
            (OK, "True", "Resolved", "Healthy", DAY),
            (DENIED, "True", "Resolved", "AccessDenied", MINUTE),
            (DENIED, "False", "AccessDenied", "AccessDenied", TEN_MINUTES),
            (DOWN, "False", "AccessDenied", "SourceUnavailable", MINUTE),
        ],
    ),
    "a-deleted-secret-revokes-at-once": (
        False,
        [
            (OK, "True", "Resolved", "Healthy", DAY),
            (NO_SECRET, "False", "SecretNotFound", "SecretNotFound", TEN_MINUTES),
            (OK, "True", "Resolved", "Healthy", DAY),
        ],
    ),
    "a-mismatch-at-revalidation-takes-the-stairs": (
        True,
        [
            (OK, "True", "Resolved", "Healthy", DAY),
            (MISMATCH, "True", "Resolved", "DigestMismatch", MINUTE),
            (MISMATCH, "False", "DigestMismatch", "DigestMismatch", TEN_MINUTES),
        ],
    ),
    "the-anchor-takes-over-after-two-silences": (
        True,
        [
            (DOWN, "False", "SourceUnavailable", "SourceUnavailable", MINUTE),
            (DOWN, "True", "Resolved", "Healthy", None),
            (DENIED, "True", "Resolved", "Healthy", None),
            (NO_SECRET, "True", "Resolved", "Healthy", None),
            (OK, "True", "Resolved", "Healthy", None),
        ],
    ),
    "an-answer-between-two-silences": (
        True,
        [
            (DOWN, "False", "SourceUnavailable", "SourceUnavailable", MINUTE),
            (DENIED, "False", "AccessDenied", "AccessDenied", TEN_MINUTES),
            (DOWN, "False", "SourceUnavailable", "SourceUnavailable", MINUTE),
        ],
    ),
    "a-missing-secret-is-not-silence": (
        True,
        [
            (NO_SECRET, "False", "SecretNotFound", "SecretNotFound", TEN_MINUTES),
            (NO_SECRET, "False", "SecretNotFound", "SecretNotFound", TEN_MINUTES),
        ],
    ),
    "an-unreadable-secret-is-not-the-hubs-silence": (
        True,
        [
            (UNREADABLE, "Unknown", "SourceUnavailable", "SourceUnavailable", MINUTE),
            (UNREADABLE, "Unknown", "SourceUnavailable", "SourceUnavailable", MINUTE),
            (DOWN, "False", "SourceUnavailable", "SourceUnavailable", MINUTE),
            (DOWN, "True", "Resolved", "Healthy", None),
        ],
    ),
}


def _artifact(anchor: bool, status: dict[str, Any] | None = None) -> ModelArtifact:
    expected = {"expectedDigest": DIGEST} if anchor else {}
    return ModelArtifact.parse(
        {
            "apiVersion": "worker.gpustack.ai/v1",
            "kind": "ModelArtifact",
            "metadata": {"name": "qwen"},
            "spec": {"source": {"huggingFace": {"repository": "org/x"}}, **expected},
            "status": status or {},
        }
    )


def _after(artifact: ModelArtifact, outcome: Outcome, verdict: Verdict) -> ModelArtifact:
    """The artifact as the operator would store it."""
    conditions = written(artifact.status.conditions, (verdict.resolved, verdict.degraded), generation=1, now="t")
    resolved = artifact.status.resolved.to_object() if artifact.status.resolved else {}
    if verdict.adopt_anchor:
        resolved = {"manifestDigest": DIGEST, "digestSource": "Expected"}
    elif outcome.reason is Reason.RESOLVED and not resolved:
        resolved = {"manifestDigest": DIGEST, "digestSource": "Hub"}
    status = {"conditions": [each.to_object() for each in conditions], **({"resolved": resolved} if resolved else {})}
    return _artifact(artifact.spec.expected_digest is not None, status)


@pytest.mark.parametrize("name", STAIRS)
def test_stairs(name: str) -> None:
    anchor, steps = STAIRS[name]
    artifact = _artifact(anchor)
    for number, (outcome, status, reason, doubt, next_check) in enumerate(steps):
        verdict = judge(artifact, outcome, DAY)
        found = (verdict.resolved.status, verdict.resolved.reason, verdict.degraded.reason, verdict.next_check)
        assert found == (status, reason, doubt, next_check), f"step {number}"
        assert verdict.degraded.holds is (doubt != "Healthy")
        artifact = _after(artifact, outcome, verdict)


def test_a_claim_resolves_by_existing() -> None:
    there, gone = claim_verdict("models", exists=True), claim_verdict("models", exists=False)
    assert (there.resolved.status, there.resolved.reason, there.next_check) == ("True", "Resolved", None)
    assert (gone.resolved.status, gone.resolved.reason) == ("False", "ClaimNotFound")
    assert "'models'" in gone.resolved.message


def test_an_image_resolves_by_itself_and_says_that_it_is_not_read() -> None:
    verdict = image_verdict()
    assert (verdict.resolved.status, verdict.degraded.reason, verdict.next_check) == ("True", "Healthy", None)
    assert "does not read the image" in verdict.resolved.message


def test_before_the_first_answer_it_is_resolving() -> None:
    assert (resolving().status, resolving().reason) == ("Unknown", "Resolving")


def _store(state: str, digest: str = DIGEST, **members: int) -> NodeModelStore:
    model = {"digest": digest, "state": state, **members}
    return NodeModelStore.parse(
        {
            "apiVersion": "worker.gpustack.ai/v1",
            "kind": "NodeModelStore",
            "metadata": {"name": "n"},
            "status": {"models": [model]},
        }
    )


def test_nodes_are_counted_by_state_and_their_mean_goes_down_to_five() -> None:
    stores = [
        _store("Ready"),
        _store("Ready"),
        _store("Failed"),
        _store("Downloading", sizeBytes=1000, downloadedBytes=999),
        _store("Downloading", sizeBytes=1000),
        _store("Ready", digest="sha256:" + "b" * 64),
    ]
    counts = node_counts(DIGEST, stores)
    assert counts.to_object() == {"ready": 2, "downloading": 2, "failed": 1, "downloadingPercent": 45}


def test_without_a_downloader_there_is_no_percentage() -> None:
    assert node_counts(DIGEST, [_store("Ready")]).to_object() == {"ready": 1, "downloading": 0, "failed": 0}
