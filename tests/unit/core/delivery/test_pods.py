"""Owns what else a replica's Pod and the Service hold: names, labels, owner, fingerprint, probes, limits, environment.

Refuses the delivery table; `test_cells` has it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.delivery.plan import Additions, lost_weights, plan, replica
from gpustack_models.core.delivery.pods import endpoint, ordinal_of
from gpustack_models.core.delivery.weights import cache_size
from gpustack_models.core.deployment import ModelDeployment
from gpustack_models.core.facts import Cluster
from gpustack_models.core.resource import JsonObject
from tests.unit.core.delivery.make import DIGEST, EXPECTED, IMAGE, artifact, cluster, deployment, is_resolved, role

GIB = 1 << 30


def _container(of: ModelDeployment, source: str = "huggingFace", facts: Cluster | None = None) -> JsonObject:
    (template, *_) = plan(of, artifact(source), facts or cluster()).templates
    container: JsonObject = template.spec["containers"][0]
    return container


def _pod(of: ModelDeployment, source: str = "claim", ordinal: int = 0, facts: Cluster | None = None) -> JsonObject:
    planned = plan(of, artifact(source), facts or cluster())
    return replica(planned, planned.templates[0], ordinal, "x7k2p", Additions())


def _env(container: JsonObject) -> dict[str, Any]:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container.get("env", ())}


def test_a_replica_is_named_labelled_owned_and_fingerprinted() -> None:
    metadata = _pod(deployment("vLLM", role(labels={"kueue.x-k8s.io/queue-name": "q"})), ordinal=3)["metadata"]
    assert metadata["name"] == "chat-server-3-x7k2p"
    assert ordinal_of(metadata["name"]) == 3
    assert metadata["namespace"] == "team-a"
    assert metadata["labels"] == {
        "app.kubernetes.io/name": "vllm",
        "app.kubernetes.io/instance": "chat",
        "app.kubernetes.io/component": "server",
        "app.kubernetes.io/managed-by": "gpustack-operator",
        "kueue.x-k8s.io/queue-name": "q",
    }
    (owner,) = metadata["ownerReferences"]
    assert owner == {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeployment",
        "name": "chat",
        "uid": "d-uid",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert len(metadata["annotations"]["worker.gpustack.ai/fingerprint"]) == 64


def test_the_service_fronts_the_first_role() -> None:
    of = deployment("vLLM", role(name="router", port=9000), role(name="other", port=8000))
    service = plan(of, artifact("claim"), cluster()).service
    assert service["metadata"]["name"] == "chat"
    assert service["spec"]["ports"] == [{"name": "http", "port": 9000, "protocol": "TCP", "targetPort": 9000}]
    assert service["spec"]["selector"].items() <= _pod(of)["metadata"]["labels"].items()
    assert endpoint(of) == "http://chat.team-a.svc:9000"


@pytest.mark.parametrize(("name", "ordinal"), [("a-b-12-x", 12), ("a-b-x-y", None), ("a", None), ("a-b--x", None)])
def test_an_ordinal_is_read_from_a_name(name: str, ordinal: int | None) -> None:
    assert ordinal_of(name) == ordinal


def _fingerprint(of: ModelDeployment, source: str, facts: Cluster) -> str:
    return plan(of, artifact(source), facts).templates[0].fingerprint


@pytest.mark.parametrize(
    ("other", "moves"),
    [
        (cluster(), False),
        (cluster(huggingface_endpoint="https://mirror"), True),
        (cluster(https_proxy="http://proxy:3128"), True),
        (cluster(modelscope_endpoint="https://mirror"), False),
        (cluster(ca_bundle="corporate"), False),
        (cluster("Node"), True),
    ],
    ids=["nothing", "endpoint", "proxy", "the-other-hub", "ca-bundle", "delivery"],
)
def test_the_fingerprint_moves_with_what_is_rendered(other: Cluster, moves: bool) -> None:
    before = _fingerprint(deployment(), "huggingFace", cluster())
    assert (_fingerprint(deployment(), "huggingFace", other) != before) is moves


def test_the_fingerprint_is_the_same_for_every_replica_and_number_of_them() -> None:
    one = _pod(deployment("vLLM", role(replicas=1)))
    two = _pod(deployment("vLLM", role(replicas=2)), ordinal=1)
    assert one["metadata"]["annotations"] == two["metadata"]["annotations"]


def test_a_managed_role_has_three_probes_of_its_port() -> None:
    container = _container(deployment("SGLang", role(port=8123)))
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": 8123}
    assert container["startupProbe"]["periodSeconds"] * container["startupProbe"]["failureThreshold"] == 4 * 3600


@pytest.mark.parametrize(
    ("stated", "left_out"),
    [
        (["--port", "8000"], "--port"),
        (["--host=0.0.0.0"], "--host"),
        (["--served-model-name", "qwen-7b"], "--served-model-name"),
        (["--served_model_name=qwen-7b"], "--served-model-name"),
        (["--por=8000"], "--port"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_the_role_states_the_operator_leaves_out(stated: list[str], left_out: str) -> None:
    arguments = _container(deployment("vLLM", role(extraArgs=stated)))["args"]
    assert arguments[-len(stated) :] == stated
    assert left_out not in arguments[: -len(stated)]
    others = {"--port", "--host", "--served-model-name"} - {left_out}
    assert others <= set(arguments)


@pytest.mark.parametrize(
    ("kind", "manufacturer", "role_name", "connector", "prefix"),
    [
        ("Server", "", "kv_both", "MooncakeStoreConnector", True),
        ("Prefill", "", "kv_producer", "MooncakeStoreConnector", True),
        ("Decode", "", "kv_consumer", "MooncakeStoreConnector", True),
        ("Server", "ascend", "kv_both", "AscendStoreConnector", False),
    ],
)
def test_vllms_connector(kind: str, manufacturer: str, role_name: str, connector: str, prefix: bool) -> None:
    config = {"protocol": "rdma", "cache_prefix": "mine"}
    of = deployment("vLLM", role(kind=kind), kv=config, manufacturer=manufacturer)
    arguments = _container(of)["args"]
    parsed = json.loads(arguments[arguments.index("--kv-transfer-config") + 1])
    assert parsed == {
        "kv_connector": connector,
        "kv_role": role_name,
        "kv_connector_extra_config": {
            "protocol": "rdma",
            "cache_prefix": "m-669ed7b128b6ad1658d735326bd172a3" if prefix else "mine",
        },
    }


def test_a_connectors_own_keys_never_override_the_operators_nor_refer_to_variables() -> None:
    of = deployment("SGLang", kv={"extra_backend_tag": "mine", "master": "$(X)", "x": "a$$b"})
    arguments = _container(of)["args"]
    text = arguments[arguments.index("--hicache-storage-backend-extra-config") + 1]
    assert json.loads(text.replace("$$", "$")) == {
        "extra_backend_tag": "m-669ed7b128b6ad1658d735326bd172a3",
        "master": "$(X)",
        "x": "a$$b",
    }
    assert "$$(X)" in text


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, GIB),
        (10 * GIB, 11 * GIB),
        (10 * GIB - 1, 11 * GIB - 1),
        (10 * GIB + 1, 11 * GIB + 2),
        (100 * GIB, 110 * GIB),
    ],
)
def test_the_cache_is_a_tenth_more_and_a_gibibyte_at_least(size: int, expected: int) -> None:
    assert cache_size(size) == expected


@given(st.integers(0, 1 << 50))
def test_the_cache_never_undercuts_either_bound(size: int) -> None:
    assert cache_size(size) >= size + GIB
    assert 10 * cache_size(size) >= 11 * size
    assert cache_size(size) == size + GIB or 10 * (cache_size(size) - 1) < 11 * size


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, None),
        ({"limits": {"cpu": "4"}}, {"limits": {"cpu": "4"}}),
        (
            {"limits": {"ephemeral-storage": "20Gi"}, "requests": {"ephemeral-storage": "10Gi"}},
            {
                "limits": {"ephemeral-storage": str(20 * GIB + 2073345950)},
                "requests": {"ephemeral-storage": "10Gi"},
            },
        ),
        ({"requests": {"ephemeral-storage": "10Gi"}}, {"requests": {"ephemeral-storage": "10Gi"}}),
        (
            {"limits": {"ephemeral-storage": 1000, "nvidia.com/gpu": "1"}},
            {
                "limits": {"ephemeral-storage": str(1000 + 2073345950), "nvidia.com/gpu": "1"},
                "requests": {"ephemeral-storage": 1000},
            },
        ),
        (
            {"limits": {"ephemeral-storage": "1.5Gi"}, "requests": {"cpu": 1}},
            {
                "limits": {"ephemeral-storage": str(1610612736 + 2073345950)},
                "requests": {"cpu": 1, "ephemeral-storage": "1.5Gi"},
            },
        ),
    ],
    ids=["none", "no-such-limit", "limit-and-request", "request-only", "number", "fraction"],
)
def test_only_the_limit_is_raised_and_only_under_engine_delivery(
    resources: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    of = deployment("vLLM", role(resources=resources))
    assert _container(of).get("resources") == expected
    assert _container(of, facts=cluster("Node")).get("resources") == (resources or None)
    assert _container(of, "claim").get("resources") == (resources or None)
    taken_over = deployment("vLLM", role(resources=resources, command=["/x"]))
    assert _container(taken_over).get("resources") == (resources or None)


@pytest.mark.parametrize(
    ("proxies", "own", "expected"),
    [
        ({}, [], {}),
        ({"https_proxy": " ", "no_proxy": ""}, [], {}),
        ({"https_proxy": "http://p:1"}, [], {"HTTPS_PROXY": "http://p:1"}),
        ({"https_proxy": "http://p:1", "no_proxy": "a,b"}, [], {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a,b"}),
        (
            {"https_proxy": "http://p:1", "no_proxy": "a,b"},
            [{"name": "HTTPS_PROXY", "value": "http://mine:1"}],
            {"HTTPS_PROXY": "http://mine:1", "NO_PROXY": "a,b"},
        ),
    ],
    ids=["unset", "blank", "proxy", "both", "the-role's-own-wins"],
)
@pytest.mark.parametrize("source", ["huggingFace", "modelScope"])
def test_proxies(source: str, proxies: dict[str, Any], own: list[JsonObject], expected: dict[str, str]) -> None:
    container = _container(deployment("vLLM", role(env=own)), source, cluster(**proxies))
    names = [each["name"] for each in container["env"]]
    assert len(names) == len(set(names))
    assert {name: value for name, value in _env(container).items() if name.endswith("PROXY")} == expected
    under_node = _container(deployment("vLLM", role(env=own)), source, cluster("Node", **proxies))
    assert _env(under_node) == {each["name"]: each["value"] for each in own}


@pytest.mark.parametrize(
    ("endpoint_setting", "domain"),
    [("https://www.modelscope.cn", "www.modelscope.cn"), ("https://ms.local:8443/", "ms.local:8443")],
)
def test_modelscope_domain_is_a_bare_host(endpoint_setting: str, domain: str) -> None:
    container = _container(deployment(), "modelScope", cluster(modelscope_endpoint=endpoint_setting))
    assert _env(container)["MODELSCOPE_DOMAIN"] == domain


@pytest.mark.parametrize("source", ["huggingFace", "modelScope"])
def test_without_a_secret_no_token_is_rendered(source: str) -> None:
    named = artifact(source)
    member = named.spec.source.to_object()[source]
    del member["secretRef"]
    bare = artifact(source, spec={"source": {source: member}})
    engine = plan(deployment(), bare, cluster()).templates[0].spec
    assert not [each for each in engine["containers"][0]["env"] if "TOKEN" in each["name"]]
    node = plan(deployment(), bare, cluster("Node")).templates[0].spec
    assert "nodePublishSecretRef" not in node["volumes"][0]["csi"]


def test_an_expected_identity_needs_no_secret_to_mount() -> None:
    anchored = {"resolved": EXPECTED, "conditions": [is_resolved()]}
    named = artifact("huggingFace", spec={"expectedDigest": DIGEST}, status=anchored)
    (volume,) = plan(deployment(), named, cluster("Node")).templates[0].spec["volumes"]
    assert "nodePublishSecretRef" not in volume["csi"]
    assert volume["csi"]["volumeAttributes"]["manifestDigest"] == DIGEST


def test_no_variable_of_a_service_reaches_an_engine() -> None:
    (template,) = plan(deployment(), artifact("claim"), cluster()).templates
    assert template.spec["enableServiceLinks"] is False


def test_a_roles_own_members_are_rendered_as_they_are() -> None:
    toleration = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    of = deployment(
        "vLLM",
        role(
            nodeSelector={"gpu": "h100"},
            tolerations=[toleration],
            imagePullSecrets=[{"name": "pull"}],
            serviceAccountName="engine",
            volumes=[
                {
                    "name": "shm",
                    "mountPath": "/dev/shm",
                    "emptyDir": {"medium": "Memory"},
                },
                {"name": "data", "mountPath": "/data", "subPath": "x", "readOnly": True, "hostPath": {"path": "/d"}},
            ],
        ),
    )
    spec = _pod(of)["spec"]
    assert spec["nodeSelector"] == {"gpu": "h100"}
    assert spec["tolerations"] == [toleration]
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    assert spec["serviceAccountName"] == "engine"
    assert spec["volumes"][:2] == [
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "data", "hostPath": {"path": "/d"}},
    ]
    assert spec["containers"][0]["volumeMounts"][:2] == [
        {"name": "shm", "mountPath": "/dev/shm"},
        {"name": "data", "mountPath": "/data", "subPath": "x", "readOnly": True},
    ]


def test_a_pod_whose_image_volume_was_dropped_is_told() -> None:
    pod = _pod(deployment(), "image")
    assert pod["spec"]["volumes"][0]["image"]["reference"] == IMAGE
    assert lost_weights(pod, pod) == ""
    dropped = {**pod, "spec": {**pod["spec"], "volumes": [{"name": "gpustack-model", "emptyDir": {}}]}}
    assert "ImageVolume" in lost_weights(pod, dropped)
    other = _pod(deployment(), "claim")
    assert lost_weights(other, other) == ""
