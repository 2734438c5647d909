"""Which documents are ours to judge, and the nearest known name of those that nobody serves."""

from __future__ import annotations

from typing import Any

import pytest

from gpustack_models.core.screening import screen

OURS = "worker.gpustack.ai/v1"


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "Secret"),
        ("v1", "PersistentVolumeClaim"),
        ("apps/v1", "Deployment"),
        ("storage.k8s.io/v1", "CSIDriver"),
        ("kueue.x-k8s.io/v1beta1", "LocalQueue"),
        ("example.com/v1", "Instance"),
        ("example.com/v1", "Setting"),
    ],
)
def test_what_others_serve_passes_unjudged(api_version: str, kind: str) -> None:
    assert screen({"apiVersion": api_version, "kind": kind}) == (None, None)


@pytest.mark.parametrize(
    ("value", "rule", "hint"),
    [
        ({"apiVersion": OURS, "kind": "ModelArtefact"}, "document-kind", "ModelArtifact"),
        ({"apiVersion": "v1", "kind": "List"}, "document-not-a-map", ""),
        ({"apiVersion": "v1", "kind": "List", "items": [1]}, "document-not-a-map", ""),
        ({"apiVersion": OURS, "kind": "modeldeployment"}, "document-kind", "ModelDeployment"),
        ({"apiVersion": OURS, "kind": "Xyz"}, "document-kind", "one of ModelArtifact"),
        ({"apiVersion": "worker.gpustack.ai/v1beta1", "kind": "Instance"}, "document-api-version", OURS),
        ({"apiVersion": "gpustack.ai/v1", "kind": "Instance"}, "document-api-version", OURS),
        ({"apiVersion": OURS, "kind": "Setting"}, "document-api-version", "gpustack.ai/v1"),
        ({"apiVersion": "worker.gpustak.ai/v1", "kind": "ModelArtifact"}, "document-api-version", OURS),
        ({"apiVersion": "worker.gpustakc.ai/v1", "kind": "ModelArtefact"}, "document-api-version", OURS),
        ({"apiVersion": "v1", "kind": "ModelArtifact"}, "document-api-version", OURS),
        ({"apiVersion": "v1", "kind": "Secrets"}, "document-kind", "Secret"),
        ({"apiVersion": "v1", "kind": "Thing"}, "document-kind", ""),
        ({"apiVersion": "V1", "kind": "Secret"}, "document-api-version", ""),
        ({"kind": "ModelArtifact"}, "document-not-a-map", "ModelArtifact"),
        ({"apiVersion": OURS}, "document-not-a-map", "ModelArtifact"),
        ({"apiVersion": OURS, "kind": 5}, "document-not-a-map", "ModelArtifact"),
        ({"apiVersion": ["v1"], "kind": "Secret"}, "document-not-a-map", "ModelArtifact"),
        ([], "document-not-a-map", ""),
        ("text", "document-not-a-map", ""),
        (5, "document-not-a-map", ""),
    ],
    ids=str,
)
def test_what_nobody_serves_is_refused_with_the_nearest(value: Any, rule: str, hint: str) -> None:
    resource, violation = screen(value)
    assert resource is None
    assert violation is not None
    assert violation.rule == rule
    assert hint in violation.hint
