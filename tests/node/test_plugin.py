"""A node plugin on the machine serves real kubelets: it registers, mounts for a Pod, acts as its node's plugin.

The driver here is as small as can be, so that the bed is what is tested: the messages of the registration and CSI
interfaces are written by hand.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from tests.bed import Bed, Node
from tests.bed.fixtures import Namespace
from tests.bed.launch import wait_until
from tests.node.test_bed import output, pod

DRIVER = "bed.csi.gpustack.ai"

Answer = Callable[[dict[int, str]], bytes]


def text(field: int, value: str) -> bytes:
    """One string field of a message (short ones: a length of one byte)."""
    content = value.encode()
    assert len(content) < 128
    return bytes([field << 3 | 2, len(content)]) + content


def strings(message: bytes) -> dict[int, str]:
    """The length-delimited fields of a message, the last one of each number; varints are passed over."""
    found: dict[int, str] = {}
    while message:
        field, kind, message = message[0] >> 3, message[0] & 7, message[1:]
        length, shift = 0, 0
        while True:
            length, shift, more, message = (
                length | (message[0] & 127) << shift,
                shift + 7,
                message[0] & 128,
                message[1:],
            )
            if not more:
                break
        if kind == 2:
            found[field], message = message[:length].decode(errors="replace"), message[length:]
    return found


def handlers(node: Node, source: Path) -> list[grpc.GenericRpcHandler]:
    """What answers a kubelet; a publish binds ``source`` to the target, read-only."""
    registration: dict[str, Answer] = {
        "GetInfo": lambda _: text(1, "CSIPlugin") + text(2, DRIVER) + text(3, str(socket(node))) + text(4, "1.0.0"),
        "NotifyRegistrationStatus": lambda _: b"",
    }
    identity: dict[str, Answer] = {"GetPluginInfo": lambda _: text(1, DRIVER) + text(2, "1")}
    answers: dict[str, Answer] = {
        "NodeGetInfo": lambda _: text(1, node.name),
        "NodeGetCapabilities": lambda _: b"",
        "NodePublishVolume": lambda request: publish(source, Path(request[4])),
        "NodeUnpublishVolume": lambda request: unpublish(Path(request[2])),
    }
    services = {
        "pluginregistration.Registration": registration,
        "csi.v1.Identity": identity,
        "csi.v1.Node": answers,
    }
    return [
        grpc.method_handlers_generic_handler(name, {method: _unary(answer) for method, answer in methods.items()})
        for name, methods in services.items()
    ]


def _unary(answer: Answer) -> grpc.RpcMethodHandler:
    return grpc.unary_unary_rpc_method_handler(lambda request, _: answer(strings(request)))


def publish(source: Path, target: Path) -> bytes:
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", source, target], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", target], check=True)
    return b""


def unpublish(target: Path) -> bytes:
    if target.is_mount():
        subprocess.run(["umount", target], check=True)
    return b""


def socket(node: Node) -> Path:
    return node.kubelet_dir / "plugins" / DRIVER / "csi.sock"


@pytest.fixture
def driver(bed: Bed) -> Iterator[Path]:
    """The driver on each node; yields a folder that it mounts from the first node's store disk."""
    source = bed.node(0).store_dir / "tree"
    source.mkdir(exist_ok=True)
    (source / "weights").write_text("from the node's own disk\n")
    bed.kubectl.apply(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": DRIVER},
            "spec": {"attachRequired": False, "podInfoOnMount": True, "volumeLifecycleModes": ["Ephemeral"]},
        }
    )
    servers, registrations = [], []
    for node in bed.nodes:
        server = grpc.server(ThreadPoolExecutor(4), handlers=handlers(node, source))
        socket(node).parent.mkdir(parents=True, exist_ok=True)
        registration = node.kubelet_dir / "plugins_registry" / f"{DRIVER}-reg.sock"
        registration.parent.mkdir(exist_ok=True)
        for path in (socket(node), registration):
            assert server.add_insecure_port(f"unix://{path}")
        server.start()
        servers.append(server)
        registrations.append(registration)
    yield source
    for path in registrations:
        path.unlink(missing_ok=True)
    for server in servers:
        server.stop(None).wait()
    bed.kubectl.delete("csidriver", DRIVER)


def drivers(bed: Bed) -> dict[str, list[str]]:
    items = bed.kubectl.get("csinodes")["items"]
    return {item["metadata"]["name"]: [one["name"] for one in item["spec"]["drivers"] or []] for item in items}


def test_a_driver_on_the_machine_registers_with_each_kubelet_and_mounts_for_a_pod(
    bed: Bed, namespace: Namespace, driver: Path
) -> None:
    wait_until(lambda: drivers(bed) == {node.name: [DRIVER] for node in bed.nodes}, 60, "both CSINodes", tick=0.1)
    volume = {"name": "tree", "csi": {"driver": DRIVER, "readOnly": True}}
    for node in bed.nodes:
        namespace.kubectl.create(pod(f"reads-{node.index}", node.name, "cat /tree/weights", {"/tree": volume}))
    for node in bed.nodes:
        assert output(namespace.kubectl, f"reads-{node.index}") == "from the node's own disk\n"
    namespace.kubectl.delete("pods", "--all")
    wait_until(lambda: not mounted(driver), 60, "the kubelets to unpublish", tick=0.2)


def mounted(source: Path) -> list[str]:
    """Targets of the driver's mounts: bind mounts show the path below their filesystem's root."""
    rows = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [row[4] for row in rows if row[3] == f"/{source.parent.name}/{source.name}"]


def test_the_plugins_token_carries_the_name_of_the_node_that_its_pod_runs_on(bed: Bed) -> None:
    for node in bed.nodes:
        plugin = bed.kubectl.acting_as(bed.identities.plugin(node.name))
        told = json.loads(plugin("auth", "whoami", "-o", "json"))["status"]["userInfo"]
        assert told["username"] == "system:serviceaccount:gpustack-system:gpustack-models-node"
        assert told["extra"]["authentication.kubernetes.io/node-name"] == [node.name]
    bed.kubectl.within("gpustack-system")("wait", "--for=condition=Ready", "pods", "--all", "--timeout=60s")
