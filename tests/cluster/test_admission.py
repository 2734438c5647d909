"""The API server judges as it does in production: CEL of a CRD, admission policies, webhooks on this machine."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.bed import Bed, Kubectl, RefusedError
from tests.bed.fixtures import Namespace
from tests.bed.launch import wait_until
from tests.bed.pki import Pair

GROUP = "bed.gpustack.ai"
RULE = {"rule": "self.high > self.low", "message": "high must be above low"}
WATERMARKS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"watermarks.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "watermarks", "singular": "watermark", "kind": "Watermark"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["low", "high"],
                                "properties": {"low": {"type": "integer"}, "high": {"type": "integer"}},
                                "x-kubernetes-validations": [RULE],
                            }
                        },
                    }
                },
            }
        ],
    },
}
NODE_NAME = "authentication.kubernetes.io/node-name"
ONLY_ITS_NODE = "only the plugin of that node may write this"


@pytest.fixture(scope="module")
def watermarks(bed: Bed) -> Iterator[None]:
    bed.kubectl.apply(WATERMARKS)
    bed.kubectl("wait", "--for=condition=Established", f"crd/watermarks.{GROUP}", "--timeout=20s")
    yield
    bed.kubectl.delete("crd", f"watermarks.{GROUP}")


def watermark(low: Any, high: Any) -> dict[str, Any]:
    metadata = {"name": "one"}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Watermark", "metadata": metadata, "spec": {"low": low, "high": high}}


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        pytest.param(80, 70, RULE["message"], id="the rule refuses high below low"),
        pytest.param(70, 70, RULE["message"], id="the rule refuses equal ones"),
        pytest.param("70", 80, "must be of type integer", id="the schema refuses a string"),
    ],
)
@pytest.mark.usefixtures("watermarks")
def test_a_crd_refuses(namespace: Namespace, low: Any, high: Any, said: str) -> None:
    with pytest.raises(RefusedError, match=said):
        namespace.kubectl.create(watermark(low, high))


@pytest.mark.usefixtures("watermarks")
def test_a_crd_admits_and_judges_the_update_too(namespace: Namespace) -> None:
    namespace.kubectl.create(watermark(70, 80))
    with pytest.raises(RefusedError, match=RULE["message"]):
        namespace.kubectl.apply(watermark(70, 60))
    assert namespace.kubectl.get("watermark", "one")["spec"] == {"low": 70, "high": 80}


@pytest.fixture
def two_nodes(bed: Bed) -> Iterator[tuple[str, str]]:
    """Two Nodes as objects: a token's node name needs no kubelet."""
    names = ("paper-0", "paper-1")
    bed.kubectl.apply(*({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in names))
    yield names
    bed.kubectl.delete("node", *names)


def test_a_policy_tells_one_nodes_token_from_anothers(
    bed: Bed, namespace: Namespace, two_nodes: tuple[str, str]
) -> None:
    plugins = {name: namespace.kubectl.acting_as(bed.identities.plugin(name)) for name in two_nodes}
    unbound = namespace.kubectl.acting_as(bed.identities.service_account("gpustack-system", "gpustack-models-node"))
    namespace.kubectl.apply(*_may_write_configmaps())
    mine, other = (_status_of(name) for name in two_nodes)
    bed.kubectl.apply(*_policy(namespace.name))
    try:
        # A policy is in force a moment after it is written.
        wait_until(lambda: _refusal(plugins[two_nodes[0]], other) == ONLY_ITS_NODE, 60, "the policy")
        plugins[two_nodes[0]].apply(mine)
        plugins[two_nodes[1]].apply(other)
        assert _refusal(plugins[two_nodes[1]], mine) == ONLY_ITS_NODE
        assert _refusal(unbound, mine) == ONLY_ITS_NODE
    finally:
        bed.kubectl.delete("validatingadmissionpolicy,validatingadmissionpolicybinding", "--all")


def _status_of(node: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": node}, "data": {"state": "Serving"}}


def _may_write_configmaps() -> tuple[dict[str, Any], ...]:
    api = "rbac.authorization.k8s.io"
    return (
        {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "plugins"},
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"apiGroup": api, "kind": "Group", "name": "system:serviceaccounts"}],
        },
    )


def _policy(namespace: str) -> tuple[dict[str, Any], ...]:
    api, name = "admissionregistration.k8s.io/v1", f"only-its-node-{namespace}"
    nodes = f"request.userInfo.extra[?'{NODE_NAME}'].orValue([])"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    return (
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [rule]},
                "matchConditions": [
                    {"name": "plugins", "expression": "request.userInfo.username.endsWith(':gpustack-models-node')"}
                ],
                "validations": [{"expression": f"object.metadata.name in {nodes}", "message": ONLY_ITS_NODE}],
            },
        },
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {
                "policyName": name,
                "validationActions": ["Deny"],
                "matchResources": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                },
            },
        },
    )


def _refusal(kubectl: Kubectl, value: dict[str, Any]) -> str:
    try:
        kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=json.dumps(value))
    except RefusedError as refused:
        return ONLY_ITS_NODE if ONLY_ITS_NODE in refused.message else refused.message
    return ""


class _NoPods(http.server.BaseHTTPRequestHandler):
    """A webhook that refuses whatever it is asked about, naming who asked."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        refusal = {"uid": request["uid"], "allowed": False, "status": {"message": f"not for {request['name']}"}}
        answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": refusal}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def webhook(bed: Bed) -> Iterator[int]:
    """The port of a webhook on this machine, served with a certificate of the bed's authority."""
    pair: Pair = bed.certificate("webhook")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _NoPods) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_the_api_server_asks_a_webhook_on_this_machine(bed: Bed, namespace: Namespace, webhook: int) -> None:
    hook = {
        "name": f"no-pods.{GROUP}",
        "clientConfig": {"url": f"https://127.0.0.1:{webhook}/admit", "caBundle": bed.ca_bundle()},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
    }
    bed.kubectl.apply(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": namespace.name},
            "webhooks": [hook],
        }
    )
    try:
        wait_until(lambda: "not for asked" in _refusal(namespace.kubectl, _status_of("asked")), 60, "the webhook")
    finally:
        bed.kubectl.delete("validatingwebhookconfiguration", namespace.name)
    wait_until(lambda: _refusal(namespace.kubectl, _status_of("asked")) == "", 60, "the webhook to be forgotten")
