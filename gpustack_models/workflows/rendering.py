"""Owns resolving the artifacts of files for rendering: a hub's answer becomes the status that the operator would write.

Refuses to render, and to open hubs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpustack_models.core import values
from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.delivery.decision import MODELSCOPE_ENDPOINT
from gpustack_models.core.delivery.weights import HUGGINGFACE_ENDPOINT
from gpustack_models.core.refs import HubKind, HubRef
from gpustack_models.core.rendering import resolved_by
from gpustack_models.core.resource import JsonObject
from gpustack_models.core.setting import Settings
from gpustack_models.core.status.artifact import HUB, Outcome, is_anchored, judge
from gpustack_models.errors import GsmError, Reason
from gpustack_models.workflows.lookup import Found
from gpustack_models.workflows.questions import Item
from gpustack_models.workflows.resolve import Resolution

_ENDPOINTS = {
    HubKind.HUGGING_FACE: HUGGINGFACE_ENDPOINT,
    HubKind.MODEL_SCOPE: MODELSCOPE_ENDPOINT,
}
REVALIDATE_INTERVAL = "model-artifact-revalidate-interval"


@dataclass(frozen=True, slots=True)
class Question:
    """A hub artifact and what to ask for it."""

    artifact: ModelArtifact
    ref: HubRef
    item: Item


def endpoint_setting(kind: HubKind) -> str:
    """The Setting that says where a hub is asked."""
    return _ENDPOINTS[kind]


def questions(artifacts: Sequence[ModelArtifact]) -> list[Question]:
    """What to ask for the artifacts of hubs. One whose identity is its anchor is never asked for (hubs.md, "Pacing").

    Raises GsmError(InvalidReference).
    """
    asked = []
    for artifact in artifacts:
        ref = artifact.spec.hub_ref
        if ref is not None and not is_anchored(artifact):
            item = Item(ref, artifact.spec.patterns or None, artifact.spec.expected_digest)
            asked.append(Question(artifact, ref, item))
    return asked


def answered(question: Question, answer: Found | GsmError, settings: Settings) -> ModelArtifact:
    """The artifact with the answer in its status."""
    interval = values.seconds(settings[REVALIDATE_INTERVAL])
    if isinstance(answer, Found) and isinstance(answer.result, Resolution):
        outcome = Outcome(Reason.RESOLVED, str(answer.result.pinned))
        return resolved_by(question.artifact, judge(question.artifact, outcome, interval), _resolved(answer.result))
    if not isinstance(answer, GsmError):
        raise TypeError(f"{question.ref} was not answered by a hub")
    outcome = Outcome(answer.reason, answer.message)
    return resolved_by(question.artifact, judge(question.artifact, outcome, interval))


def _resolved(resolution: Resolution) -> JsonObject:
    return {
        "revision": resolution.commit,
        "manifestDigest": resolution.manifest.digest,
        "digestSource": HUB,
        "fileCount": resolution.manifest.file_count,
        "sizeBytes": resolution.manifest.size,
    }
