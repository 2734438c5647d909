"""Owns the reasons why nothing may be created: each row of `WeightsReady`, and which comes first when two hold.

Refuses a Pod where a reason is given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.coreobjects import BindingMode, ClaimPhase
from gpustack_models.core.delivery.plan import plan
from gpustack_models.core.deployment import ModelDeployment
from gpustack_models.core.facts import Claim, Cluster
from tests.unit.core.delivery.make import DIGEST, EXPECTED, artifact, bound, cluster, deployment, is_resolved, role

FILTER = {"allowPatterns": ["*.safetensors"]}
ANCHOR = {"expectedDigest": DIGEST}
ANCHORED = {"resolved": EXPECTED, "conditions": [is_resolved()]}
DENIED = {"conditions": [is_resolved("False", "AccessDenied", "org/x does not exist or is not accessible")]}
UNBOUND = Claim("models", ClaimPhase.PENDING, ("ReadOnlyMany",), "fast", BindingMode.IMMEDIATE, "csi.example.com")
HTTP: dict[str, Any] = {"modelscope_endpoint": "http://mirror.local"}

Case = tuple[ModelDeployment, ModelArtifact | None, Cluster, str | None, str]
CASES: dict[str, Case] = {
    "no-artifact": (deployment(named=False), None, cluster(), None, ""),
    "artifact-missing": (deployment(), None, cluster(), "ArtifactNotFound", "'qwen' does not exist"),
    "never-resolved": (
        deployment(),
        artifact("huggingFace", status={}),
        cluster(),
        "ArtifactNotResolved",
        "not been resolved yet",
    ),
    "refused": (
        deployment(),
        artifact("huggingFace", status=DENIED),
        cluster(),
        "ArtifactNotResolved",
        "AccessDenied: org/x does not exist",
    ),
    "resolving": (
        deployment(),
        artifact("huggingFace", status={"conditions": [is_resolved("Unknown", "Resolving")]}),
        cluster(),
        "ArtifactNotResolved",
        "Resolving",
    ),
    "resolved-without-a-digest": (
        deployment(),
        artifact("huggingFace", status={"conditions": [is_resolved()]}),
        cluster(),
        "ArtifactNotResolved",
        "",
    ),
    "claim-not-resolved": (
        deployment(),
        artifact("claim", status={"conditions": [is_resolved("False", "ClaimNotFound")]}),
        cluster(),
        "ArtifactNotResolved",
        "ClaimNotFound",
    ),
    "claim-not-bound": (deployment(), artifact("claim"), cluster(claim=UNBOUND), "ClaimNotBound", "'models'"),
    "claim-gone": (deployment(), artifact("claim"), replace(cluster(), claims={}), "ClaimNotBound", "does not exist"),
    "claim-of-many": (
        deployment("vLLM", role(replicas=2)),
        artifact("claim"),
        cluster(claim=replace(bound(), access_modes=("ReadWriteOnce",))),
        "AccessModeConflict",
        "2 Pods, but has ReadWriteOnce",
    ),
    "claim-of-many-roles": (
        deployment("vLLM", role(name="a"), role(name="b", command=["/x"])),
        artifact("claim"),
        cluster(claim=replace(bound(), access_modes=("ReadWriteOncePod",))),
        "AccessModeConflict",
        "2 Pods",
    ),
    "claim-of-one": (
        deployment(),
        artifact("claim"),
        cluster(claim=replace(bound(), access_modes=("ReadWriteOnce",))),
        None,
        "",
    ),
    "driver-missing-huggingFace": (
        deployment(),
        artifact("huggingFace"),
        cluster("Node", driver=False),
        "NodeDeliveryUnavailable",
        "model.csi.gpustack.ai",
    ),
    "driver-missing-modelScope": (
        deployment(),
        artifact("modelScope"),
        cluster("Node", driver=False),
        "NodeDeliveryUnavailable",
        "",
    ),
    "driver-missing-under-Engine": (deployment(), artifact("huggingFace"), cluster(driver=False), None, ""),
    "driver-missing-claim": (deployment(), artifact("claim"), cluster("Node", driver=False), None, ""),
    "driver-missing-image": (deployment(), artifact("image"), cluster("Node", driver=False), None, ""),
    "filter-under-Engine": (
        deployment(),
        artifact("huggingFace", spec=FILTER),
        cluster(),
        "FilterNeedsNodeDelivery",
        "model-artifact-delivery-mode to Node",
    ),
    "ignore-filter-under-Engine": (
        deployment(),
        artifact("modelScope", spec={"ignorePatterns": ["original/"]}),
        cluster(),
        "FilterNeedsNodeDelivery",
        "",
    ),
    "filter-under-Node": (deployment(), artifact("huggingFace", spec=FILTER), cluster("Node"), None, ""),
    "anchor-under-Engine": (
        deployment(),
        artifact("huggingFace", spec=ANCHOR),
        cluster(),
        "AnchorNeedsNodeDelivery",
        "",
    ),
    "expected-under-Engine": (
        deployment(),
        artifact("huggingFace", spec=ANCHOR, status=ANCHORED),
        cluster(),
        "AnchorNeedsNodeDelivery",
        "",
    ),
    "expected-under-Node": (
        deployment(),
        artifact("huggingFace", spec=ANCHOR, status=ANCHORED),
        cluster("Node"),
        None,
        "",
    ),
    "http-modelscope-under-Engine": (
        deployment("SGLang"),
        artifact("modelScope"),
        cluster(**HTTP),
        "EndpointNeedsNodeDelivery",
        "http://mirror.local is http",
    ),
    "modelscope-endpoint-with-a-path": (
        deployment(),
        artifact("modelScope"),
        cluster(modelscope_endpoint="https://mirror.local/ms"),
        "EndpointNeedsNodeDelivery",
        "has a path",
    ),
    "http-modelscope-take-over": (
        deployment("vLLM", role(command=["/x"])),
        artifact("modelScope"),
        cluster(**HTTP),
        None,
        "",
    ),
    "http-modelscope-under-Node": (deployment(), artifact("modelScope"), cluster("Node", **HTTP), None, ""),
    "http-huggingface-under-Engine": (
        deployment(),
        artifact("huggingFace"),
        cluster(huggingface_endpoint="http://mirror.local"),
        None,
        "",
    ),
    "first-missing-then-driver": (deployment(), None, cluster("Node", driver=False), "ArtifactNotFound", ""),
    "first-unresolved-then-filter": (
        deployment(),
        artifact("huggingFace", spec=FILTER, status=DENIED),
        cluster(),
        "ArtifactNotResolved",
        "",
    ),
    "first-unresolved-then-driver": (
        deployment(),
        artifact("huggingFace", status=DENIED),
        cluster("Node", driver=False),
        "ArtifactNotResolved",
        "",
    ),
    "first-unbound-then-access-mode": (
        deployment("vLLM", role(replicas=2)),
        artifact("claim"),
        cluster(claim=replace(UNBOUND, access_modes=("ReadWriteOnce",))),
        "ClaimNotBound",
        "",
    ),
    "no-commit": (
        deployment(),
        artifact("huggingFace", status={"conditions": [is_resolved()], "resolved": {"manifestDigest": DIGEST}}),
        cluster(),
        "AnchorNeedsNodeDelivery",
        "no resolved commit",
    ),
    "first-filter-then-anchor": (
        deployment(),
        artifact("huggingFace", spec={**FILTER, **ANCHOR}),
        cluster(),
        "FilterNeedsNodeDelivery",
        "",
    ),
    "first-anchor-then-endpoint": (
        deployment(),
        artifact("modelScope", spec=ANCHOR),
        cluster(**HTTP),
        "AnchorNeedsNodeDelivery",
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_reason(name: str) -> None:
    of, named, facts, reason, message = CASES[name]
    blocked = plan(of, named, facts).blocked
    if reason is None:
        assert blocked is None
    else:
        assert blocked is not None
        assert blocked.reason == reason
        assert message in blocked.message


@pytest.mark.parametrize(
    ("name", "told"),
    [("artifact-missing", False), ("refused", False), ("driver-missing-huggingFace", True), ("claim-not-bound", True)],
)
def test_what_would_be_rendered_is_told_while_blocked_where_it_can(name: str, told: bool) -> None:
    of, named, facts, *_ = CASES[name]
    assert bool(plan(of, named, facts).templates) is told


@pytest.mark.parametrize(
    ("source", "mode", "echo"),
    [
        ("claim", "Node", {"artifact": "qwen", "delivery": "PVC"}),
        ("image", "Node", {"artifact": "qwen", "delivery": "Image"}),
        ("huggingFace", "Engine", {"delivery": "Engine", "manifestDigest": DIGEST}),
        ("modelScope", "Node", {"delivery": "Node", "manifestDigest": DIGEST}),
    ],
)
def test_status_model_echoes_the_artifact(source: str, mode: str, echo: dict[str, Any]) -> None:
    model = plan(deployment(), artifact(source), cluster(mode)).model
    assert model is not None
    written = model.to_object()
    assert written.items() >= echo.items()
    assert ("revision" in written) is (source in ("huggingFace", "modelScope"))
