"""Owns where Pods go because of their weights: claims and their volumes' nodes, and the nodes that hold the content.

Refuses to schedule: it adds terms at creation, outside the fingerprint, or says why no Pod may be made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from gpustack_models.core.coreobjects import BindingMode, ClaimPhase
from gpustack_models.core.facts import HOSTNAME_LABEL, NO_PROVISIONER, Claim, Node
from gpustack_models.core.nodestore import ModelState, StoredModel
from gpustack_models.core.reasons import Blocked, WeightsReason
from gpustack_models.core.resource import JsonObject, condition

MAX_WARM_NODES = 16
WARM_WEIGHT = 100
#: With it Kueue chooses the topology by itself, and a preference for nodes would fight it.
PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"

_SHARED_MODES = frozenset({"ReadOnlyMany", "ReadWriteMany"})
_BIND_FIRST = "bind the claim to its volume first (spec.volumeName)"

Term = JsonObject


def claim_blocks(name: str, claim: Claim | None, pods: int) -> Blocked | None:
    """Why no Pod may mount a claim, or None (model-artifact.md, "Claim delivery and placement").

    `pods` is how many Pods of the workload mount it.
    """
    if claim is None:
        return _not_bound(f"PersistentVolumeClaim {name!r} does not exist", "create it")
    if claim.deleting:
        return _not_bound(f"PersistentVolumeClaim {name!r} is being deleted", "wait until it is gone, and create it")
    if claim.phase is ClaimPhase.LOST:
        return _not_bound(f"PersistentVolumeClaim {name!r} lost its volume {claim.volume!r}", "restore the volume")
    if claim.phase is ClaimPhase.PENDING and (blocked := _pending(claim)):
        return blocked
    mounting = pods + claim.other_pods
    if mounting > 1 and not _SHARED_MODES.intersection(claim.access_modes):
        modes = ", ".join(claim.access_modes) or "no access mode"
        return Blocked(
            WeightsReason.ACCESS_MODE_CONFLICT,
            f"PersistentVolumeClaim {name!r} would be mounted by {mounting} Pods, but has {modes}; use one replica, or "
            "a claim with ReadOnlyMany or ReadWriteMany",
        )
    return None


def _pending(claim: Claim) -> Blocked | None:
    what = f"PersistentVolumeClaim {claim.name!r} is Pending"
    if claim.binding_mode is None:
        if claim.storage_class:
            return _not_bound(f"{what}: its StorageClass {claim.storage_class!r} does not exist", "create the class")
        if claim.volume:
            return _not_bound(f"{what} on its volume {claim.volume!r}", "look at the claim's events")
        return _not_bound(f"{what} and has no StorageClass", _BIND_FIRST)
    of_class = f"{what}: its StorageClass {claim.storage_class!r}"
    if claim.provisioner == NO_PROVISIONER:
        return _not_bound(f"{of_class} provisions nothing ({NO_PROVISIONER})", _BIND_FIRST)
    if claim.binding_mode is BindingMode.IMMEDIATE:
        return _not_bound(f"{of_class} binds immediately, and has not yet", "look at the claim's events")
    return None


def _not_bound(what: str, next_step: str) -> Blocked:
    return Blocked(WeightsReason.CLAIM_NOT_BOUND, f"{what}; {next_step}")


def claim_terms(claim: Claim | None) -> tuple[Term, ...] | None:
    """The node selector terms of a bound claim's volume, ORed; None when any node will do."""
    return claim.node_terms if claim is not None and claim.phase is ClaimPhase.BOUND else None


def holders(digest: str, nodes: Sequence[Node] | None) -> tuple[str, ...]:
    """The host names of at most 16 nodes that hold a digest: referenced first, most recently used, then by name.

    A node counts when its store lists the digest Ready, the store itself is Ready, and its CSINode lists the driver.
    """
    ranked = []
    for node in nodes or ():
        held = _held(digest, node)
        if held is not None and node.hostname and node.lists_driver:
            ranked.append((not held.referenced, -_seconds(held.last_used_time), node.name, node.hostname))
    return tuple(hostname for *_, hostname in sorted(ranked))[:MAX_WARM_NODES]


def _held(digest: str, node: Node) -> StoredModel | None:
    if node.store is None:
        return None
    ready = condition(node.store.status.conditions, "Ready")
    if ready is None or ready.status != "True":
        return None
    models = node.store.status.models
    return next((each for each in models if each.digest == digest and each.state == ModelState.READY), None)


def _seconds(time: str | None) -> float:
    if not time:
        return 0.0
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return 0.0


def image_holders(reference: str, nodes: Sequence[Node] | None) -> tuple[str, ...]:
    """The host names of at most 16 nodes that report the exact image, by name. Absence proves nothing."""
    found = sorted((node.name, node.hostname) for node in nodes or () if reference in node.images and node.hostname)
    return tuple(hostname for _, hostname in found)[:MAX_WARM_NODES]


def preferred(hostnames: Sequence[str]) -> Term | None:
    """The preferred term for nodes that hold one content, or None without a holder."""
    if not hostnames:
        return None
    expression = {"key": HOSTNAME_LABEL, "operator": "In", "values": list(hostnames)}
    return {"weight": WARM_WEIGHT, "preference": {"matchExpressions": [expression]}}


def pinned(node_name: str) -> tuple[Term, ...]:
    """The terms that pin a Pod to a node, through the scheduler: it binds claims on the way, and says what is wrong."""
    return ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]},)


def placed(pod: JsonObject, required: Iterable[Sequence[Term] | None], warm: Iterable[Term | None]) -> JsonObject:
    """A Pod with terms added at creation: each list of `required` holds beside the Pod's own, `warm` are preferred.

    The Pod's own terms are kept. With Kueue's preferred topology on the Pod, nothing is preferred.
    """
    spec = dict(pod["spec"])
    affinity: dict[str, Any] = dict(spec.get("affinity") or {})
    node: dict[str, Any] = dict(affinity.get("nodeAffinity") or {})
    own = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = tuple(own["nodeSelectorTerms"]) if own else None
    for more in required:
        terms = _both(terms, more)
    if terms is not None:
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": list(terms)}
    wished = [] if _has_preferred_topology(pod) else [term for term in warm if term is not None]
    if wished:
        old = node.get("preferredDuringSchedulingIgnoredDuringExecution") or []
        node["preferredDuringSchedulingIgnoredDuringExecution"] = [*old, *wished]
    if not node:
        return pod
    spec["affinity"] = {**affinity, "nodeAffinity": node}
    return {**pod, "spec": spec}


def _has_preferred_topology(pod: JsonObject) -> bool:
    metadata = pod["metadata"]
    return any(PREFERRED_TOPOLOGY in (metadata.get(member) or {}) for member in ("annotations", "labels"))


def _both(one: Sequence[Term] | None, other: Sequence[Term] | None) -> tuple[Term, ...] | None:
    # Terms are ORed, so both lists hold where one term of each does: every pair, joined.
    if one is None or other is None:
        found = other if one is None else one
        return None if found is None else tuple(found)
    pairs = [_joined(left, right) for left in one for right in other if left and right]
    # An empty term matches no node; joined to another it would match that one's.
    return tuple(pairs) or ({},)


def _joined(left: Term, right: Term) -> Term:
    members = ("matchExpressions", "matchFields")
    joined = {member: [*(left.get(member) or ()), *(right.get(member) or ())] for member in members}
    return {member: expressions for member, expressions in joined.items() if expressions}
