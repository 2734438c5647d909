"""Owns the placement tables: a claim's states, its volume's nodes, and the nodes that hold the content.

Refuses a scheduler; what terms mean together is judged by a small matcher of the tests' own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.coreobjects import (
    BindingMode,
    ClaimPhase,
    CSINode,
    NodeObject,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    read,
)
from gpustack_models.core.facts import Claim, Node
from gpustack_models.core.nodestore import NodeModelStore
from gpustack_models.core.placement import (
    Term,
    claim_blocks,
    claim_terms,
    holders,
    image_holders,
    pinned,
    placed,
    preferred,
)
from gpustack_models.core.resource import Record
from gpustack_models.errors import GsmError

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64
IMAGE = f"registry.example.com/team/qwen@{DIGEST}"
WAIT, NOW = BindingMode.WAIT, BindingMode.IMMEDIATE
PENDING = Claim("models", ClaimPhase.PENDING, ("ReadWriteMany",), "fast", WAIT, "csi.example.com")
BOUND = Claim("models", ClaimPhase.BOUND, ("ReadWriteMany",), "fast", WAIT, "csi.example.com", "pv-1")

CLAIMS: dict[str, tuple[Claim | None, int, str | None, str]] = {
    "bound": (BOUND, 2, None, ""),
    "bound-read-only-many": (replace(BOUND, access_modes=("ReadOnlyMany",)), 9, None, ""),
    "pending-first-consumer-with-a-provisioner": (PENDING, 2, None, ""),
    "pending-first-consumer-without-a-provisioner": (
        replace(PENDING, provisioner="kubernetes.io/no-provisioner"),
        1,
        "ClaimNotBound",
        "spec.volumeName",
    ),
    "pending-immediate": (replace(PENDING, binding_mode=NOW), 1, "ClaimNotBound", "binds immediately"),
    "pending-immediate-without-a-provisioner": (
        replace(PENDING, binding_mode=NOW, provisioner="kubernetes.io/no-provisioner"),
        1,
        "ClaimNotBound",
        "provisions nothing",
    ),
    "pending-class-unknown": (replace(PENDING, binding_mode=None), 1, "ClaimNotBound", "'fast' does not exist"),
    "pending-without-a-class": (
        replace(PENDING, binding_mode=None, storage_class="", provisioner=""),
        1,
        "ClaimNotBound",
        "no StorageClass",
    ),
    "pending-on-its-volume": (
        replace(PENDING, binding_mode=None, storage_class="", volume="pv-1"),
        1,
        "ClaimNotBound",
        "'pv-1'",
    ),
    "lost": (replace(BOUND, phase=ClaimPhase.LOST), 1, "ClaimNotBound", "lost its volume"),
    "deleting": (replace(BOUND, deleting=True), 1, "ClaimNotBound", "being deleted"),
    "absent": (None, 1, "ClaimNotBound", "does not exist"),
    "one-pod-of-once": (replace(BOUND, access_modes=("ReadWriteOnce",)), 1, None, ""),
    "no-pod-of-once": (replace(BOUND, access_modes=("ReadWriteOnce",)), 0, None, ""),
    "two-pods-of-once": (replace(BOUND, access_modes=("ReadWriteOnce",)), 2, "AccessModeConflict", "2 Pods"),
    "two-pods-of-once-pod": (replace(BOUND, access_modes=("ReadWriteOncePod",)), 2, "AccessModeConflict", ""),
    "one-pod-beside-another's": (
        replace(BOUND, access_modes=("ReadWriteOnce",), other_pods=1),
        1,
        "AccessModeConflict",
        "2 Pods",
    ),
    "two-pods-of-once-pending": (replace(PENDING, access_modes=("ReadWriteOnce",)), 2, "AccessModeConflict", ""),
    "two-pods-of-once-and-many": (replace(BOUND, access_modes=("ReadWriteOnce", "ReadOnlyMany")), 2, None, ""),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claim(name: str) -> None:
    claim, pods, reason, message = CLAIMS[name]
    blocked = claim_blocks("models", claim, pods)
    if reason is None:
        assert blocked is None
    else:
        assert blocked is not None
        assert blocked.reason == reason
        assert "'models'" in blocked.message
        assert message in blocked.message


def test_a_claim_is_read_from_its_objects() -> None:
    claim = {
        "metadata": {"name": "models", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeName": "pv-1"},
        "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce", "ReadOnlyMany"]},
    }
    fast = {"metadata": {"name": "fast"}, "provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [_in("zone", "a")]}}}
    volume = read(PersistentVolume, {"metadata": {"name": "pv-1"}, "spec": affinity})
    assert Claim.of(read(PersistentVolumeClaim, claim), read(StorageClass, fast), volume, 2) == Claim(
        "models",
        ClaimPhase.BOUND,
        ("ReadWriteOnce", "ReadOnlyMany"),
        "fast",
        WAIT,
        "csi.example.com",
        "pv-1",
        (_in("zone", "a"),),
        deleting=True,
        other_pods=2,
    )
    slow = read(StorageClass, {"metadata": {"name": "slow"}, "provisioner": "x"})
    bare = Claim.of(read(PersistentVolumeClaim, {"metadata": {"name": "models"}, "spec": {}}), slow, None)
    assert (bare.phase, bare.binding_mode, bare.node_terms) == (ClaimPhase.PENDING, NOW, None)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (
            PersistentVolumeClaim,
            {"kind": "PersistentVolumeClaim", "metadata": {}},
            "PersistentVolumeClaim '': metadata.name",
        ),
        (
            PersistentVolumeClaim,
            {"kind": "PersistentVolumeClaim", "metadata": {"name": "m"}, "status": {"phase": "bound"}},
            "PersistentVolumeClaim 'm': status.phase: Input should be 'Pending', 'Bound' or 'Lost'",
        ),
        (NodeObject, {"kind": "Node", "metadata": {"name": "n"}, "status": []}, "Node 'n': status"),
        (CSINode, {"kind": "CSINode", "metadata": "n"}, "CSINode '': metadata"),
    ],
    ids=["no-name", "no-such-phase", "a-list", "a-text"],
)
def test_what_cannot_be_read_is_named(kind: type[Record], value: dict[str, Any], said: str) -> None:
    with pytest.raises(GsmError) as caught:
        read(kind, value)
    assert said in caught.value.message


def test_only_a_bound_claim_adds_its_volumes_nodes() -> None:
    terms = (_in("zone", "a"),)
    assert claim_terms(replace(BOUND, node_terms=terms)) == (_in("zone", "a"),)
    assert claim_terms(replace(PENDING, node_terms=terms)) is None
    assert claim_terms(BOUND) is None
    assert claim_terms(None) is None


def _in(key: str, *values: str) -> Term:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def _pod(own: list[Term] | None = None) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": own}}
    affinity = {"affinity": {"nodeAffinity": required}} if own is not None else {}
    return {"metadata": {"name": "p"}, "spec": {"containers": [], **affinity}}


def _required(pod: dict[str, Any]) -> list[Term] | None:
    node = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms: dict[str, list[Term]] | None = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if terms is None else terms["nodeSelectorTerms"]


def _matches(terms: list[Term] | None, node: dict[str, str]) -> bool:
    """As the scheduler does: terms are ORed, expressions ANDed, an empty term matches nothing."""
    if terms is None:
        return True
    return any(term and all(_fits(each, node) for part in term.values() for each in part) for term in terms)


def _fits(expression: dict[str, Any], node: dict[str, str]) -> bool:
    return node.get(expression["key"]) in expression["values"]


_VALUE = st.sampled_from("abc")
_TERM: st.SearchStrategy[Term] = st.one_of(
    st.just({}),
    st.lists(st.tuples(st.sampled_from(["zone", "host"]), st.sets(_VALUE, min_size=1)), min_size=1, max_size=2).map(
        lambda pairs: {
            "matchExpressions": [{"key": key, "operator": "In", "values": sorted(values)} for key, values in pairs]
        }
    ),
    st.sets(_VALUE, min_size=1).map(
        lambda names: {"matchFields": [{"key": "metadata.name", "operator": "In", "values": sorted(names)}]}
    ),
)
_TERMS = st.one_of(st.none(), st.lists(_TERM, min_size=1, max_size=3))


@given(
    _TERMS,
    st.lists(_TERMS, max_size=3),
    st.fixed_dictionaries({"zone": _VALUE, "host": _VALUE, "metadata.name": _VALUE}),
)
def test_added_terms_hold_beside_the_pods_own(
    own: list[Term] | None, more: list[list[Term] | None], node: dict[str, str]
) -> None:
    pod = placed(_pod(own), more, ())
    assert _matches(_required(pod), node) == (_matches(own, node) and all(_matches(each, node) for each in more))


def test_what_is_placed_nowhere_in_particular_is_unchanged() -> None:
    pod = _pod()
    assert placed(pod, [None], [None]) is pod


def test_a_pinned_pod_goes_through_the_scheduler() -> None:
    pod = placed(_pod(), [pinned("worker-1"), (_in("zone", "a"),)], ())
    assert "nodeName" not in pod["spec"]
    assert _matches(_required(pod), {"metadata.name": "worker-1", "zone": "a"})
    assert not _matches(_required(pod), {"metadata.name": "worker-2", "zone": "a"})
    assert not _matches(_required(pod), {"metadata.name": "worker-1", "zone": "b"})


def _store(*models: dict[str, Any], ready: str = "True") -> NodeModelStore:
    conditions = [{"type": "Ready", "status": ready, "reason": "Serving"}] if ready else []
    return NodeModelStore.parse(
        {
            "apiVersion": "worker.gpustack.ai/v1",
            "kind": "NodeModelStore",
            "metadata": {"name": "n"},
            "status": {"models": list(models), "conditions": conditions},
        }
    )


def _model(state: str = "Ready", digest: str = DIGEST, **members: Any) -> dict[str, Any]:
    return {"digest": digest, "state": state, **members}


def _node(name: str, store: NodeModelStore | None = None, **members: Any) -> Node:
    return Node(name, members.pop("hostname", f"{name}.local"), members.pop("lists_driver", True), store, **members)


WARM: dict[str, tuple[Node, bool]] = {
    "ready": (_node("n", _store(_model())), True),
    "downloading": (_node("n", _store(_model("Downloading"))), False),
    "failed": (_node("n", _store(_model("Failed"))), False),
    "another-digest": (_node("n", _store(_model(digest=OTHER))), False),
    "store-not-ready": (_node("n", _store(_model(), ready="False")), False),
    "store-without-a-condition": (_node("n", _store(_model(), ready="")), False),
    "no-store": (_node("n"), False),
    "driver-not-listed": (_node("n", _store(_model()), lists_driver=False), False),
    "no-hostname-label": (_node("n", _store(_model()), hostname=""), False),
}


@pytest.mark.parametrize("name", WARM)
def test_warm_node(name: str) -> None:
    node, warm = WARM[name]
    assert holders(DIGEST, [node]) == (("n.local",) if warm else ())


def test_holders_are_the_referenced_then_the_recently_used_then_by_name_and_sixteen_at_most() -> None:
    def used(name: str, hour: int | None, referenced: bool = False) -> Node:
        time = {} if hour is None else {"lastUsedTime": f"2026-01-01T{hour:02}:00:00Z"}
        return _node(name, _store(_model(referenced=referenced, **time)))

    nodes = [
        used("z", None),
        used("d", 5),
        used("c", 5),
        used("b", 9),
        used("a", 1),
        used("y", 2, referenced=True),
        *(used(f"m{index:02}", None) for index in range(20)),
    ]
    found = holders(DIGEST, nodes)
    assert found[:6] == ("y.local", "b.local", "c.local", "d.local", "a.local", "m00.local")
    assert len(found) == 16
    assert found == holders(DIGEST, list(reversed(nodes)))


def test_a_failed_read_yields_no_term() -> None:
    assert preferred(holders(DIGEST, None)) is None
    assert preferred(image_holders(IMAGE, None)) is None


def test_image_holders_hold_the_exact_reference() -> None:
    nodes = [
        Node("b", "b.local", images=frozenset({IMAGE})),
        Node("a", "a.local", images=frozenset({IMAGE, "x"})),
        Node("c", "c.local", images=frozenset({IMAGE[:-1]})),
        Node("d", "", images=frozenset({IMAGE})),
    ]
    assert image_holders(IMAGE, nodes) == ("a.local", "b.local")
    many = [Node(f"n{index:02}", f"h{index:02}", images=frozenset({IMAGE})) for index in range(20)]
    assert len(image_holders(IMAGE, many)) == 16


def test_a_warm_term_prefers_by_hostname_and_keeps_existing_terms() -> None:
    existing = {"weight": 1, "preference": _in("zone", "a")}
    pod = _pod()
    pod["spec"]["affinity"] = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [existing]},
        "podAntiAffinity": {"x": []},
    }
    affinity = placed(pod, (), [preferred(("a", "b")), None])["spec"]["affinity"]
    assert affinity["podAntiAffinity"] == {"x": []}
    assert affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] == [
        existing,
        {"weight": 100, "preference": _in("kubernetes.io/hostname", "a", "b")},
    ]


@pytest.mark.parametrize("member", ["annotations", "labels"])
def test_with_kueues_preferred_topology_nothing_is_preferred(member: str) -> None:
    pod = _pod()
    pod["metadata"][member] = {"kueue.x-k8s.io/podset-preferred-topology": "rack"}
    assert placed(pod, (), [preferred(("a",))]) is pod


def test_a_node_is_read_from_its_objects() -> None:
    node = {
        "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n.local"}},
        "status": {
            "images": [{"names": [IMAGE, "x"]}, {}],
            "nodeInfo": {"kubeletVersion": "v1.36.3", "containerRuntimeVersion": "containerd://2.3.7"},
        },
    }
    csi_node = {"metadata": {"name": "n"}, "spec": {"drivers": [{"name": "model.csi.gpustack.ai", "nodeID": "n"}]}}
    store = _store()
    assert Node.of(read(NodeObject, node), read(CSINode, csi_node), store) == Node(
        "n", "n.local", True, store, frozenset({IMAGE, "x"}), "v1.36.3", "containerd://2.3.7"
    )
    bare = Node.of(read(NodeObject, {"metadata": {"name": "n"}}), None, None)
    assert (bare.hostname, bare.lists_driver, bare.images) == ("", False, frozenset())
