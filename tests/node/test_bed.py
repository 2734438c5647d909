"""Two real nodes on one machine: Pods, volumes, faults, and nothing left of them."""

from __future__ import annotations

import base64
import errno
import http.client
import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.bed import BUSYBOX, Bed, Image, Options, hub, processes
from tests.bed.card import Card
from tests.bed.disk import addresses, loop_devices, mounts_below
from tests.bed.fixtures import Namespace
from tests.bed.kubectl import Kubectl
from tests.bed.launch import wait_until
from tests.bed.layout import home
from tests.bed.ports import Block
from tests.bed.processes import Process, table

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = Image("bed.local/weights:1", {"model/config.json": b'{"layers": 2}\n', "model/part.bin": bytes(range(256))})
IMAGE_VOLUME = {"name": "weights", "image": {"reference": WEIGHTS.reference, "pullPolicy": "Never"}}


def pod(name: str, node: str, script: str, mounts: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
    """A Pod that runs a shell script on a node, with volumes by the path that they are mounted at."""
    volumes = mounts or {}
    container = {
        "name": "main",
        "image": BUSYBOX,
        "imagePullPolicy": "Never",
        "command": ["/bin/sh", "-c", script],
        "volumeMounts": [{"name": one["name"], "mountPath": path, "readOnly": True} for path, one in volumes.items()],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node},
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            "volumes": list(volumes.values()),
        },
    }


def phase(kubectl: Kubectl, name: str) -> str:
    return str(kubectl.get("pod", name)["status"].get("phase"))


def output(kubectl: Kubectl, name: str) -> str:
    """What a Pod printed until it ended well, read as its owner would: through the API server and the kubelet."""
    wait_until(lambda: phase(kubectl, name) in ("Succeeded", "Failed"), 60, f"{name} to end", tick=0.1)
    assert phase(kubectl, name) == "Succeeded"
    return kubectl("logs", name)


def run_on_each(bed: Bed, kubectl: Kubectl) -> dict[str, str]:
    """A Pod on each node, one with an image volume; what each printed."""
    bed.load_image(WEIGHTS)
    first, second = (node.name for node in bed.nodes)
    read = "cat /weights/model/config.json; sha256sum < /weights/model/part.bin; touch /weights/x 2>&1"
    kubectl.create(
        pod("reads", first, f"{read}; true", {"/weights": IMAGE_VOLUME}),
        pod("greets", second, "echo hello from $(cat /etc/hostname)"),
    )
    return {name: output(kubectl, name) for name in ("reads", "greets")}


def test_a_pod_on_each_node_and_an_image_volume_is_read(bed: Bed, namespace: Namespace) -> None:
    told = run_on_each(bed, namespace.kubectl)
    assert told["greets"] == "hello from greets\n"
    config, digest, refused = told["reads"].splitlines()
    assert config == '{"layers": 2}'
    assert digest.split()[0] == "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880"
    assert "Read-only file system" in refused
    placed = {name: namespace.kubectl.get("pod", name)["spec"]["nodeName"] for name in told}
    assert placed == {"reads": bed.node(0).name, "greets": bed.node(1).name}


def test_volumes_that_the_kubelet_fills_are_seen_by_containerd(bed: Bed, namespace: Namespace) -> None:
    namespace.kubectl("create", "configmap", "greeting", "--from-literal=word=salve")
    token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    volume = {"name": "greeting", "configMap": {"name": "greeting"}}
    script = f"cat /greeting/word; echo; cat {token}"
    namespace.kubectl.create(pod("reads", bed.node(0).name, script, {"/greeting": volume}))
    word, jwt = output(namespace.kubectl, "reads").splitlines()
    assert word == "salve"
    claims = json.loads(base64.urlsafe_b64decode(jwt.split(".")[1] + "=="))["kubernetes.io"]
    assert claims["node"]["name"] == bed.node(0).name
    assert claims["pod"]["name"] == "reads"


def test_exec_reaches_a_running_pod(bed: Bed, namespace: Namespace) -> None:
    namespace.kubectl.create(pod("stays", bed.node(1).name, "sleep 600"))
    wait_until(lambda: phase(namespace.kubectl, "stays") == "Running", 60, "the Pod", tick=0.1)
    assert namespace.kubectl("exec", "stays", "--", "cat", "/etc/hostname") == "stays\n"


def test_fixed_paths_of_kubelet_and_containerd_are_the_nodes_own(bed: Bed, namespace: Namespace) -> None:
    namespace.kubectl.create(pod("logs", bed.node(0).name, "echo said"))
    assert output(namespace.kubectl, "logs") == "said\n"
    own = bed.node(0).layout.own
    assert (own / "lib" / "kubelet").is_dir()
    link = next((own / "log" / "containers").glob(f"logs_{namespace.name}_main-*"))
    assert str(link.readlink()).startswith(str(bed.node(0).layout.logs))
    assert not list(Path("/var/log").glob(f"containers/*{namespace.name}*")), "nothing in the machine's"
    assert not list(Path("/var/lib/cni").glob(f"results/gsm-{bed.node(0).name}-*"))


def test_a_probe_reaches_a_pod_and_a_pod_its_node(bed: Bed, namespace: Namespace) -> None:
    serves = pod("serves", bed.node(0).name, "echo served > /tmp/index.html; httpd -f -p 8000 -h /tmp")
    probe = {"httpGet": {"path": "/index.html", "port": 8000}, "periodSeconds": 1}
    serves["spec"]["containers"][0]["readinessProbe"] = probe
    namespace.kubectl.create(serves)
    namespace.kubectl("wait", "--for=condition=Ready", "pod/serves", "--timeout=60s")
    address = namespace.kubectl.get("pod", "serves")["status"]["podIP"]
    # busybox's wget, static, falls over the machine's name service.
    asks = f"printf 'GET /index.html HTTP/1.0\\r\\n\\r\\n' | nc -w 5 {address} 8000 | tail -n 1; ip route"
    namespace.kubectl.create(pod("asks", bed.node(1).name, asks))
    served, *routes = output(namespace.kubectl, "asks").splitlines()
    assert served == "served", "from another node"
    assert routes
    assert [route for route in routes if not route.startswith(("198.18.", "198.19."))] == [], "no way out of the bed"


def test_nodes_have_the_addresses_of_the_bed(bed: Bed) -> None:
    shown = {item["metadata"]["name"]: item["status"]["addresses"] for item in bed.kubectl.get("nodes")["items"]}
    inner = {name: [one["address"] for one in told if one["type"] == "InternalIP"] for name, told in shown.items()}
    assert inner == {node.name: [node.address] for node in bed.nodes}


def test_the_api_server_proxies_the_kubelets_configuration(bed: Bed) -> None:
    told = json.loads(bed.kubectl("get", "--raw", f"/api/v1/nodes/{bed.node(0).name}/proxy/configz"))
    assert told["kubeletconfig"]["imageGCHighThresholdPercent"] == 100


def test_pods_outlive_their_kubelet(bed: Bed, namespace: Namespace) -> None:
    node = bed.node(0)
    namespace.kubectl.create(pod("outlives", node.name, "while true; do date +%s > /tmp/now; sleep 0.1; done"))
    wait_until(lambda: phase(namespace.kubectl, "outlives") == "Running", 60, "the Pod", tick=0.1)
    before = namespace.kubectl.get("pod", "outlives")["status"]["containerStatuses"][0]["containerID"]
    bed.faults.kill_kubelet(0)
    try:
        assert inside(before), "its process runs on"
    finally:
        bed.faults.start_kubelet(0)
    after = namespace.kubectl.get("pod", "outlives")["status"]["containerStatuses"][0]
    assert (after["containerID"], after["restartCount"]) == (before, 0)


def inside(container: str) -> list[Process]:
    return [row for row in table() if container.removeprefix("containerd://") in row.cgroups and not row.dead]


def test_a_nodes_full_disk_is_its_own(bed: Bed) -> None:
    full, other = bed.node(0).store_dir / "probe", bed.node(1).store_dir / "probe"
    taken = bed.faults.fill_store(0)
    try:
        assert taken > bed.options.disk // 2
        with pytest.raises(OSError, match="No space left") as refused:
            full.write_bytes(b"x" * 65536)
        assert refused.value.errno == errno.ENOSPC
        other.write_bytes(b"x" * 65536)
    finally:
        bed.faults.free_store(0)
    full.write_bytes(b"x" * 65536)
    full.unlink()
    other.unlink()


def test_a_store_disk_keeps_the_room_that_is_asked_for(bed: Bed) -> None:
    leave = 64 << 20
    bed.faults.fill_store(1, leave)
    try:
        state = os.statvfs(bed.node(1).store_dir)
        assert leave <= state.f_bavail * state.f_frsize < leave + (4 << 20)
    finally:
        bed.faults.free_store(1)


def test_a_read_only_disk_refuses_and_recovers(bed: Bed) -> None:
    probe = bed.node(0).store_dir / "probe"
    bed.faults.read_only_store(0)
    try:
        with pytest.raises(OSError, match="Read-only file system"):
            probe.write_bytes(b"")
    finally:
        bed.faults.read_only_store(0, on=False)
    probe.write_bytes(b"")
    probe.unlink()


def asked(url: str, patience: float = 30) -> str:
    """What a hub answers, or the kind of the failure."""
    try:
        with urllib.request.urlopen(f"{url}/demo/tiny/resolve/main/model.safetensors", timeout=patience) as answer:
            return str(len(answer.read()))
    except TimeoutError:
        return "silence"
    except urllib.error.URLError as error:
        return "refused" if isinstance(error.reason, ConnectionRefusedError) else repr(error.reason)


@pytest.mark.parametrize("how", ["refused", "silent"])
def test_one_node_is_cut_off_its_hub_and_the_other_is_not(bed: Bed, how: Literal["refused", "silent"]) -> None:
    hub.seed(bed.hub_dir)
    whole = str((bed.hub_dir / "demo/tiny/model.safetensors").stat().st_size)
    assert [asked(url) for url in (bed.hub_url, bed.node(0).hub_url, bed.node(0).pod_hub_url)] == [whole] * 3
    bed.faults.cut_hub(0, how)
    try:
        cut = "refused" if how == "refused" else "silence"
        assert [asked(url, patience=1) for url in (bed.node(0).hub_url, bed.node(0).pod_hub_url)] == [cut] * 2
        assert asked(bed.node(1).hub_url) == whole
    finally:
        bed.faults.join_hub(0)
    assert asked(bed.node(0).hub_url) == whole


def test_cutting_a_node_off_breaks_the_transfer_under_way(bed: Bed) -> None:
    big = bed.hub_dir / "demo" / "big" / "model.bin"
    big.parent.mkdir(parents=True, exist_ok=True)
    big.write_bytes(os.urandom(64 << 20))
    url = f"{bed.node(1).hub_url}/demo/big/resolve/main/model.bin"
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert len(answer.read(1 << 20)) == 1 << 20
            bed.faults.cut_hub(1)
            with pytest.raises((OSError, http.client.IncompleteRead)):
                answer.read()
    finally:
        bed.faults.join_hub(1)
        shutil.rmtree(big.parent)


@pytest.fixture
def lone(bed: Bed) -> Iterator[Bed]:
    """A bed beside the session's, for what ends it."""
    made = Bed(home(os.environ) / f"lone{os.getpid()}", Options(nodes=2, owner=processes.current()))
    yield made
    made.down()


def traces(root: Path, card: Card, containers: frozenset[str]) -> dict[str, list[str]]:
    """What is on the machine of a bed with two nodes: everything that ``down`` has to take away."""
    rows = [row for row in table() if not row.dead]
    routes = subprocess.run(["ip", "-4", "route", "show", "table", "all"], capture_output=True, text=True, check=True)
    return {
        "processes": [str(row.identity.pid) for row in rows if row.mark == card.mark or row.cgroups & containers],
        "mounts": [str(point) for point in mounts_below(root)],
        "loops": [device for n in (0, 1) for device in loop_devices(root / f"n{n}" / "disk.img")],
        "cgroups": [str(path) for name in containers for path in Path("/sys/fs/cgroup").glob(f"**/k8s.io/{name}")],
        "routes": [line for line in routes.stdout.splitlines() if f"198.18.{card.block}." in line],
        "addresses": [address for address in addresses() if address.startswith(f"198.19.{card.block}.")],
        "files": [str(root)] if root.exists() else [],
    }


def containers_of(bed: Bed) -> frozenset[str]:
    bundles = (node.layout.containerd_state.glob("io.containerd.runtime.v2.task/k8s.io/*") for node in bed.nodes)
    return frozenset(path.name for found in bundles for path in found)


def test_down_leaves_nothing_of_two_nodes_with_running_pods(lone: Bed) -> None:
    lone.up()
    kubectl = lone.kubectl.within("default")
    run_on_each(lone, kubectl)
    for index, node in enumerate(lone.nodes):
        kubectl.create(pod(f"stays-{index}", node.name, "sleep 600"))
    for index in (0, 1):
        wait_until(lambda index=index: phase(kubectl, f"stays-{index}") == "Running", 60, "a Pod", 0.1)  # type: ignore[misc]
    root, card, containers = lone.layout.root, lone.card, containers_of(lone)
    before = traces(root, card, containers)
    assert all(before.values()), f"the search finds each kind while the bed is up: {before}"
    assert len(before["processes"]) >= 4 + 4 + 2 * 3, "control plane, nodes, shims and containers"
    assert listening(Block(card.block).ports)
    lone.down()
    # The kernel takes a Pod's interfaces down a moment after its network namespace.
    wait_until(lambda: not traces(root, card, containers)["routes"], 60, "the interfaces to go", tick=0.1)
    assert not any(traces(root, card, containers).values())
    assert listening(Block(card.block).ports) == set()


def listening(ports: range) -> set[int]:
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].rsplit(":", 1)[1], 16) for row in rows if row[3] == "0A"} & set(ports)


@pytest.mark.usefixtures("bed")
def test_up_after_kill_9_of_everything_of_two_nodes() -> None:
    name = f"crash{os.getpid()}"
    folder = home(os.environ) / name

    def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "tests.bed", *arguments, "--name", name]
        return subprocess.run(argv, cwd=ROOT, text=True, capture_output=True, timeout=120)

    try:
        started = shell("up", "--nodes", "2")
        assert started.returncode == 0, started.stderr
        crashed = Bed(folder)
        kubectl = crashed.kubectl.within("default")
        kubectl.create(pod("stays", crashed.node(0).name, "sleep 600"))
        wait_until(lambda: phase(kubectl, "stays") == "Running", 60, "the Pod", tick=0.1)
        card, containers = crashed.card, containers_of(crashed)
        for row in table():
            if row.mark == card.mark or row.cgroups & containers:
                os.kill(row.identity.pid, 9)
        wait_until(lambda: not traces(folder, card, containers)["processes"], 60, "all to die")
        assert traces(folder, card, containers)["mounts"], "a crash leaves mounts"
        again = shell("up", "--nodes", "2")
        assert again.returncode == 0, again.stderr
        assert traces(folder, card, containers)["cgroups"] == []
        fresh = Bed(folder).kubectl.within("default")
        assert not fresh.exists("pod", "stays")
        fresh.create(pod("works", Bed(folder).node(1).name, "echo works"))
        assert output(fresh, "works") == "works\n"
    finally:
        assert shell("down").returncode == 0
    assert not folder.exists()
