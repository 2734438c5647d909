"""Who may write a status (node-store.md, "Only the right writer")."""

from __future__ import annotations

import pytest

from gpustack_models.core.kinds import BY_KIND
from gpustack_models.core.rules.judge import Request, judge
from gpustack_models.core.rules.model import Facts, Operation, Requester
from tests.resources import HUGGING_FACE, NODE_STORE, Object

OPERATOR = "system:serviceaccount:gpustack:operator"
PLUGIN = "system:serviceaccount:gpustack:model-manager"
FACTS = Facts(operator=OPERATOR, plugin=PLUGIN, pod_nodes={("gpustack", "uid-1"): "node-1", ("gpustack", "uid-2"): "b"})
DELETED = {"metadata": {"name": "node-1", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
EXTRA = "authentication.kubernetes.io/"


def bound(pod: str = "uid-1", node: str = "") -> dict[str, tuple[str, ...]]:
    """What the API server says of a token bound to a Pod, and from 1.30 to its node."""
    return {f"{EXTRA}pod-uid": (pod,), **({f"{EXTRA}node-name": (node,)} if node else {})}


def written(
    value: Object, user: str, extra: dict[str, tuple[str, ...]] | None = None, facts: Facts = FACTS
) -> list[str]:
    request = Request(Operation.UPDATE, "status", Requester(user, extra or {}))
    return [each.message for each in judge(BY_KIND[value["kind"]], value, value, request=request, facts=facts)]


@pytest.mark.parametrize(
    ("user", "extra", "refused"),
    [
        (PLUGIN, bound(node="node-1"), ""),
        (PLUGIN, bound(), ""),
        (PLUGIN, bound(node="node-2"), "on node node-2"),
        (PLUGIN, bound("uid-2"), "on node b"),
        (PLUGIN, bound("uid-2", "node-1"), ""),
        (PLUGIN, bound("gone"), "was not found"),
        (PLUGIN, {}, "bound to no Pod"),
        (PLUGIN, {f"{EXTRA}node-name": ("node-1",)}, "bound to no Pod"),
        (PLUGIN, {f"{EXTRA}pod-uid": ("uid-1", "uid-2")}, "bound to no Pod"),
        (OPERATOR, bound(node="node-1"), "not the plugin's ServiceAccount"),
        ("system:serviceaccount:other:model-manager", bound(node="node-1"), "not the plugin's ServiceAccount"),
        ("admin", {}, "not the plugin's ServiceAccount"),
    ],
    ids=[
        "its-node",
        "its-node-before-1.30",
        "another-node",
        "another-node-before-1.30",
        "the-tokens-word-counts",
        "pod-gone",
        "unbound",
        "node-without-pod",
        "two-pods",
        "operator",
        "another-namespace",
        "admin",
    ],
)
@pytest.mark.parametrize("base", [NODE_STORE, {**NODE_STORE, **DELETED}], ids=["live", "deleted"])
def test_a_stores_status(base: Object, user: str, extra: dict[str, tuple[str, ...]], refused: str) -> None:
    messages = written(base, user, extra)
    assert len(messages) == bool(refused)
    assert all(refused in message and message.startswith("nodestore-status-writer: ") for message in messages)


@pytest.mark.parametrize(("user", "refused"), [(OPERATOR, False), (PLUGIN, True), ("admin", True), ("", True)])
@pytest.mark.parametrize("facts", [FACTS, Facts()], ids=["known", "unknown"])
def test_an_artifacts_status(user: str, refused: bool, facts: Facts) -> None:
    messages = written(HUGGING_FACE, user, facts=facts)
    assert len(messages) == (refused or facts.operator is None)
    assert all(message.startswith("artifact-status-writer: only the operator") for message in messages)


def test_a_spec_is_not_a_status() -> None:
    request = Request(Operation.UPDATE, requester=Requester("admin"))
    assert judge(BY_KIND["NodeModelStore"], NODE_STORE, NODE_STORE, request=request, facts=FACTS) == ()


@pytest.mark.parametrize("stored", [HUGGING_FACE, NODE_STORE], ids=["artifact", "store"])
def test_what_was_stored_broken_is_no_way_around_the_rule(stored: Object) -> None:
    broken = {**stored, "spec": {"source": 5, "watermarks": 5}}
    assert len(written(broken, "tenant")) == 1
