"""Owns who may write a status: the operator an artifact's, a node's plugin its own node's store.

Refuses every other writer, also on objects that are being deleted (node-store.md "NodeModelStore", "Only the right
writer"): mounts are authorised by that status.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.nodestore import NodeModelStore
from gpustack_models.core.rules.cel import text_at
from gpustack_models.core.rules.model import Case, Facts, Operation, Problem, Requester, Row, Where

_SPEC = "node-store.md"
#: What the API server says of a bound token, in the requester's extra (from Kubernetes 1.30 the node's name too).
_EXTRA = "authentication.kubernetes.io/"
NODE_NAME, POD_UID = f"{_EXTRA}node-name", f"{_EXTRA}pod-uid"


def _artifact(case: Case[ModelArtifact]) -> Iterator[Problem]:
    requester, operator = case.requester, case.facts.operator
    if requester is None or requester.username == operator:
        return
    yield Problem(
        ("status",),
        "artifact-status-writer: only the operator writes the status of a ModelArtifact, since mounts are authorised "
        f"by it; {requester.username!r} is not the operator",
    )


def _store(case: Case[NodeModelStore]) -> Iterator[Problem]:
    requester = case.requester
    if requester is None:
        return
    name = text_at(case.value, "metadata", "name")
    why = _not_of_this_node(requester, name, case.facts)
    if why:
        yield Problem(
            ("status",),
            f"nodestore-status-writer: only the plugin on node {name} writes the status of its NodeModelStore; {why}",
        )


def _not_of_this_node(requester: Requester, name: str, facts: Facts) -> str:
    if requester.username != facts.plugin:
        return f"{requester.username!r} is not the plugin's ServiceAccount"
    pod = _only(requester, POD_UID)
    if pod is None:
        return "the token is bound to no Pod"
    namespace = requester.username.split(":")[2] if requester.username.count(":") == 3 else ""
    node = _only(requester, NODE_NAME) or facts.pod_nodes.get((namespace, pod))
    if node is None:
        return "the Pod that the token is bound to was not found"
    return "" if node == name else f"the token is bound to a Pod on node {node}"


def _only(requester: Requester, key: str) -> str | None:
    values = requester.extra.get(key, ())
    return values[0] if len(values) == 1 and values[0] else None


ROWS: tuple[Row, ...] = (
    Row(
        "artifact-status-writer",
        "ModelArtifact",
        "status",
        "An artifact's status is written by the operator alone.",
        Where.WEBHOOK,
        _SPEC,
        check=_artifact,
        operations=frozenset({Operation.UPDATE}),
        subresource="status",
    ),
    Row(
        "nodestore-status-writer",
        "NodeModelStore",
        "status",
        "A store's status is written by the plugin alone, with a token bound to a Pod that runs on that very node.",
        Where.WEBHOOK,
        _SPEC,
        check=_store,
        operations=frozenset({Operation.UPDATE}),
        subresource="status",
    ),
)
