"""Owns an Instance's Pod and the reasons why it waits: every source, pinned or not.

Refuses an engine: an Instance has none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.coreobjects import ClaimPhase
from gpustack_models.core.delivery.instances import plan_instance
from gpustack_models.core.facts import Claim, Cluster, Node
from gpustack_models.core.instance import Instance
from gpustack_models.core.nodestore import NodeModelStore
from gpustack_models.core.resource import JsonObject
from tests.unit.core.delivery.make import (
    DIGEST,
    IMAGE,
    UID,
    artifact,
    bound,
    cluster,
    is_resolved,
)

NEW = Node("worker-1", "worker-1", kubelet_version="v1.35.0", runtime_version="containerd://2.1.0")


def instance(*models: str, volumes: tuple[JsonObject, ...] = (), **spec: Any) -> Instance:
    mounted = [{"mountPath": f"/models/{name}", "model": {"artifactRef": {"name": name}}} for name in models]
    return Instance.parse(
        {
            "apiVersion": "worker.gpustack.ai/v1",
            "kind": "Instance",
            "metadata": {"name": "dev", "namespace": "team-a", "uid": "i-uid"},
            "spec": {"image": "dev:1", "additionalVolumes": [*volumes, *mounted], **spec},
        }
    )


def _pod(of: Instance, artifacts: dict[str, ModelArtifact], facts: Cluster) -> JsonObject:
    planned = plan_instance(of, artifacts, facts)
    assert planned.blocked is None
    assert planned.pod is not None
    return planned.pod


VOLUMES: dict[str, tuple[JsonObject, JsonObject]] = {
    "claim": ({"persistentVolumeClaim": {"claimName": "models", "readOnly": True}}, {"subPath": "qwen"}),
    "image": ({"image": {"reference": IMAGE, "pullPolicy": "IfNotPresent"}}, {}),
    "huggingFace": (
        {
            "csi": {
                "driver": "model.csi.gpustack.ai",
                "readOnly": True,
                "volumeAttributes": {"artifact": "qwen", "artifactUID": UID, "manifestDigest": DIGEST},
                "nodePublishSecretRef": {"name": "hf-token"},
            }
        },
        {},
    ),
}
VOLUMES["modelScope"] = (
    {"csi": {**VOLUMES["huggingFace"][0]["csi"], "nodePublishSecretRef": {"name": "ms-token"}}},
    {},
)


@pytest.mark.parametrize("mode", ["Engine", "Node"])
@pytest.mark.parametrize("source", VOLUMES)
def test_a_model_is_mounted_read_only_whatever_the_setting_says(source: str, mode: str) -> None:
    pod = _pod(instance("qwen"), {"qwen": artifact(source)}, cluster(mode))
    volume, mount = VOLUMES[source]
    assert pod["spec"]["volumes"] == [{"name": "gpustack-model-0", **volume}]
    (container,) = pod["spec"]["containers"]
    wanted = {"name": "gpustack-model-0", "mountPath": "/models/qwen", "readOnly": True, **mount}
    assert container["volumeMounts"] == [wanted]
    assert pod["metadata"]["name"] == "dev"
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "Instance"


ARTIFACT_REFUSED = artifact("huggingFace", status={"conditions": [is_resolved("False", "AccessDenied", "denied")]})
WAITS: dict[str, tuple[str | None, dict[str, Any], Cluster, str | None, str]] = {
    "artifact-missing": (None, {}, cluster(), "ArtifactNotFound", "'qwen'"),
    "driver-missing": ("huggingFace", {}, cluster(driver=False), "NodeDeliveryUnavailable", "model.csi.gpustack.ai"),
    "driver-missing-for-a-claim": ("claim", {}, cluster(driver=False), None, ""),
    "driver-missing-for-an-image": ("image", {}, cluster(driver=False), None, ""),
    "claim-not-bound": (
        "claim",
        {},
        cluster(claim=Claim("models", ClaimPhase.LOST)),
        "ClaimNotBound",
        "'models'",
    ),
    "claim-in-use": (
        "claim",
        {},
        cluster(claim=replace(bound(), access_modes=("ReadWriteOnce",), other_pods=1)),
        "AccessModeConflict",
        "2 Pods",
    ),
    "image-not-pinned": ("image", {}, cluster(), None, ""),
    "image-pinned-to-a-new-node": ("image", {"nodeName": "worker-1"}, replace(cluster(), nodes=(NEW,)), None, ""),
    "image-pinned-to-nothing": (
        "image",
        {"nodeName": "worker-9"},
        replace(cluster(), nodes=(NEW,)),
        "NodeNotFound",
        "'worker-9'",
    ),
    "claim-pinned-to-an-old-node": (
        "claim",
        {"nodeName": "worker-1"},
        replace(cluster(), nodes=(replace(NEW, kubelet_version="v1.30.0"),)),
        None,
        "",
    ),
}
for label, kubelet, runtime, floor in (
    ("endless-kubelet", "v1." + "9" * 5000, "containerd://2.1.0", "cannot be read"),
    ("old-kubelet", "v1.34.9", "containerd://2.1.0", "kubelet 1.35 is needed, and it runs v1.34.9"),
    ("unreadable-kubelet", "edge", "containerd://2.1.0", "kubelet 1.35 is needed, and its version 'edge'"),
    ("no-kubelet", "", "containerd://2.1.0", "kubelet 1.35"),
    ("old-containerd", "v1.36.3", "containerd://2.0.9", "containerd 2.1 is needed, and it runs containerd://2.0.9"),
    ("very-old-containerd", "v1.36.3", "containerd://1.7.20", "containerd 2.1"),
    ("another-runtime", "v1.36.3", "cri-o://1.36.0", "containerd 2.1 is needed, and it runs cri-o://1.36.0"),
    ("unreadable-runtime", "v1.36.3", "containerd://main", "containerd 2.1 is needed, and its runtime"),
    ("no-runtime", "v1.36.3", "", "containerd 2.1"),
):
    WAITS[f"image-pinned-to-{label}"] = (
        "image",
        {"nodeName": "worker-1"},
        replace(cluster(), nodes=(replace(NEW, kubelet_version=kubelet, runtime_version=runtime),)),
        "NodeCannotMountImages",
        floor,
    )
for label, kubelet, runtime in (
    ("vendor-kubelet", "v1.35.2-gke.1", "containerd://2.1.4+vendor1"),
    ("next-major", "v2.0.0", "containerd://v3.0"),
):
    WAITS[f"image-pinned-to-{label}"] = (
        "image",
        {"nodeName": "worker-1"},
        replace(cluster(), nodes=(replace(NEW, kubelet_version=kubelet, runtime_version=runtime),)),
        None,
        "",
    )


@pytest.mark.parametrize("name", WAITS)
def test_waits(name: str) -> None:
    source, spec, facts, reason, message = WAITS[name]
    artifacts = {} if source is None else {"qwen": artifact(source)}
    planned = plan_instance(instance("qwen", **spec), artifacts, facts)
    if reason is None:
        assert planned.blocked is None
        assert planned.pod is not None
        return
    assert planned.pod is None
    assert planned.blocked is not None
    assert planned.blocked.reason == reason
    assert message in planned.blocked.message
    if reason.startswith("Node") and spec:
        assert repr(spec["nodeName"]) in planned.blocked.message


def test_the_first_volume_that_waits_says_why() -> None:
    planned = plan_instance(instance("a", "b"), {"a": ARTIFACT_REFUSED}, cluster())
    assert planned.blocked is not None
    assert planned.blocked.reason == "ArtifactNotResolved"
    assert "AccessDenied: denied" in planned.blocked.message


def test_a_stopped_instance_has_no_pod_and_waits_for_nothing() -> None:
    planned = plan_instance(instance("qwen", stop=True), {}, cluster())
    assert (planned.pod, planned.blocked) == (None, None)


def test_every_claim_places_a_pinned_instance_and_nothing_is_preferred() -> None:
    terms = ({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},)
    facts = replace(cluster(claim=replace(bound(), node_terms=terms)), nodes=(NEW,))
    pod = _pod(
        instance("claim", "hub", nodeName="worker-1"), {"claim": artifact("claim"), "hub": artifact("image")}, facts
    )
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    assert affinity == {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["worker-1"]}],
                }
            ]
        }
    }


def test_each_content_prefers_its_own_holders_once() -> None:
    status = {
        "models": [{"digest": DIGEST, "state": "Ready"}],
        "conditions": [{"type": "Ready", "status": "True", "reason": "Serving"}],
    }
    store = NodeModelStore.parse(
        {"apiVersion": "worker.gpustack.ai/v1", "kind": "NodeModelStore", "metadata": {"name": "n"}, "status": status}
    )
    nodes = (Node("a", "a", True, store), Node("b", "b", images=frozenset({IMAGE})))
    artifacts = {"one": artifact("huggingFace"), "two": artifact("modelScope"), "three": artifact("image")}
    pod = _pod(instance("one", "two", "three"), artifacts, replace(cluster(), nodes=nodes))
    terms = pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [term["preference"]["matchExpressions"][0]["values"] for term in terms] == [["a"], ["b"]]


def test_an_instances_own_members_are_rendered_as_they_are() -> None:
    volumes = ({"mountPath": "/data", "subPath": "x", "readOnly": True, "hostPath": {"path": "/d"}},)
    of = instance(
        "qwen",
        volumes=volumes,
        command=["sleep"],
        args=["inf"],
        env=[{"name": "HF_TOKEN", "value": "own"}],
        ports=[{"containerPort": 22}],
        resources={"limits": {"cpu": "1"}},
        labels={"a": "b"},
        nodeSelector={"gpu": "h100"},
        tolerations=[{"operator": "Exists"}],
        imagePullSecrets=[{"name": "pull"}],
    )
    pod = _pod(of, {"qwen": artifact("claim")}, cluster())
    (container,) = pod["spec"]["containers"]
    assert container == {
        "name": "instance",
        "image": "dev:1",
        "command": ["sleep"],
        "args": ["inf"],
        "env": [{"name": "HF_TOKEN", "value": "own"}],
        "ports": [{"containerPort": 22}],
        "resources": {"limits": {"cpu": "1"}},
        "volumeMounts": [
            {"name": "gpustack-volume-0", "mountPath": "/data", "subPath": "x", "readOnly": True},
            {"name": "gpustack-model-1", "mountPath": "/models/qwen", "readOnly": True, "subPath": "qwen"},
        ],
    }
    assert pod["spec"]["volumes"][0] == {"name": "gpustack-volume-0", "hostPath": {"path": "/d"}}
    assert pod["metadata"]["labels"]["a"] == "b"
    assert {name: pod["spec"][name] for name in ("nodeSelector", "tolerations", "imagePullSecrets")} == {
        "nodeSelector": {"gpu": "h100"},
        "tolerations": [{"operator": "Exists"}],
        "imagePullSecrets": [{"name": "pull"}],
    }
