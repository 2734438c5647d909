"""The control plane is whole: its version, its controllers and scheduler, who may act, and the faults it survives."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.bed import Bed, RefusedError
from tests.bed.errors import BedError
from tests.bed.fixtures import Namespace
from tests.bed.launch import wait_until
from tests.bed.recipes import MODULES, version

POD = {"containers": [{"name": "main", "image": "bed.local/busybox:1"}]}


@pytest.mark.skipif("KUBEBUILDER_ASSETS" in os.environ, reason="the assets bring a version of their own")
def test_the_server_says_the_version_that_go_mod_requires(bed: Bed) -> None:
    told = json.loads(bed.kubectl("version", "-o", "json"))["serverVersion"]
    wanted = version((MODULES / "kubernetes" / "go.mod").read_text(), "k8s.io/kubernetes/cmd")
    assert told["gitVersion"] == wanted
    assert f"v{told['major']}.{told['minor']}." == wanted[: wanted.rindex(".") + 1]


def test_a_deployment_gets_pods_and_the_scheduler_says_why_they_wait(namespace: Namespace) -> None:
    labels = {"app": "waits"}
    namespace.kubectl.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "waits"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": POD},
            },
        }
    )

    def reasons() -> list[str]:
        pods = namespace.kubectl.get("pods", "-l", "app=waits")["items"]
        conditions = [one for pod in pods for one in pod["status"].get("conditions", [])]
        return [one["message"] for one in conditions if one.get("reason") == "Unschedulable"]

    wait_until(lambda: len(reasons()) == 2, 60, "both Pods to be judged", tick=0.2)
    assert all("no nodes available" in reason for reason in reasons())


def test_a_tenant_acts_in_its_namespace_alone(bed: Bed, namespace: Namespace) -> None:
    tenant = namespace.tenant()
    tenant("create", "configmap", "mine")
    assert namespace.kubectl.exists("configmap", "mine")
    with pytest.raises(RefusedError, match=r"(?i)forbidden"):
        tenant.within("default")("create", "configmap", "not-mine")
    with pytest.raises(RefusedError, match=r"(?i)forbidden"):
        tenant("get", "nodes")
    assert not bed.kubectl.within("default").exists("configmap", "not-mine")


def test_the_operator_is_its_service_account_and_has_only_what_is_bound_to_it(bed: Bed) -> None:
    operator = bed.kubectl.acting_as(bed.identities.operator())
    told = json.loads(operator("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert told["username"] == "system:serviceaccount:gpustack-system:gpustack-models-operator"
    with pytest.raises(RefusedError, match="gpustack-models-operator"):
        operator("get", "configmaps")


def test_kubeconfigs_keys_and_tokens_are_their_owners_alone(bed: Bed) -> None:
    private = [*bed.layout.kubeconfigs.iterdir(), *bed.layout.pki.glob("*.key"), bed.layout.pki / "tokens.csv"]
    assert len(private) > 5
    assert [path for path in private if path.is_file() and path.stat().st_mode & 0o077] == []


def test_no_token_is_on_a_command_line_or_in_a_log(bed: Bed) -> None:
    token = json.loads(bed.kubeconfig("admin").read_text())["users"][0]["user"]["token"]
    assert token in (bed.layout.pki / "tokens.csv").read_text()
    told = [path.read_text() for path in bed.layout.log.iterdir()]
    for name in bed.supervisor.names():
        identity = bed.supervisor.identity(name)
        assert identity is not None
        told.append(Path(f"/proc/{identity.pid}/cmdline").read_text())
    assert "kube-apiserver" in "".join(told)
    assert token not in "".join(told)


def test_the_api_server_stops_and_comes_back_with_what_it_knew(bed: Bed, namespace: Namespace) -> None:
    namespace.kubectl("create", "configmap", "kept")
    with bed.faults.apiserver_down(), pytest.raises(RefusedError, match="refused"):
        namespace.kubectl("get", "configmap", "kept")
    assert namespace.kubectl.exists("configmap", "kept")


def test_a_frozen_api_server_is_silent_and_goes_on(bed: Bed, namespace: Namespace) -> None:
    with bed.faults.frozen("kube-apiserver"), pytest.raises(RefusedError, match=r"[Tt]imeout|deadline"):
        namespace.kubectl("create", "configmap", "late", "--request-timeout=2s")
    namespace.kubectl("create", "configmap", "later")


def test_a_fault_on_what_does_not_run_says_so(bed: Bed) -> None:
    with pytest.raises(BedError, match="kubelet-7 is not running"):
        bed.faults.freeze("kubelet-7")
    with pytest.raises(BedError, match="0 nodes"):
        bed.faults.fill_store(0)
