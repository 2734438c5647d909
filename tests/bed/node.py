"""Owns one node: its disk, containerd, its kubelet, its images; where a test finds each.

Refuses what a kubelet does itself: Pods are started by it alone.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import disk, images, machine, nodeconfig
from .kubeconfig import certificate, write_kubeconfig
from .kubectl import Kubectl, RefusedError
from .launch import Command, Supervisor, wait_until
from .layout import Layout, NodeLayout
from .nodeconfig import NodeFacts
from .pki import Authority
from .ports import Block


@dataclass(frozen=True)
class Node:
    """The n-th node of a bed."""

    index: int
    bed: Layout
    block: Block
    server: str
    env: Mapping[str, str]
    supervisor: Supervisor

    @property
    def name(self) -> str:
        """The Node's name; other beds on the machine have other ones."""
        return f"bed{self.block.number}-n{self.index}"

    @property
    def layout(self) -> NodeLayout:
        """All folders of the node."""
        return self.bed.node(self.index)

    @property
    def kubelet_dir(self) -> Path:
        """The kubelet's root: ``pods/``, ``plugins_registry/``."""
        return self.layout.kubelet

    @property
    def store_dir(self) -> Path:
        """The node store's root, on a disk of the node's own."""
        return self.layout.store

    @property
    def address(self) -> str:
        """The node's own address, its InternalIP."""
        return self.block.address(self.index)

    @property
    def hub_url(self) -> str:
        """The hub by this node's own way (see ``Faults.cut_hub``), for programs of the machine."""
        return f"http://127.0.0.1:{self.block.node(self.index, 'hub-link')}"

    @property
    def pod_hub_url(self) -> str:
        """The same way, for the node's Pods."""
        return f"http://{self.address}:{self.block.node(self.index, 'hub-link')}"

    @property
    def kubelet(self) -> str:
        """The kubelet's name among the bed's processes."""
        return f"kubelet-{self.index}"

    @property
    def containerd(self) -> str:
        """containerd's name among the bed's processes."""
        return f"containerd-{self.index}"

    def make_disk(self, size: int) -> None:
        """The node's store disk, formatted and mounted."""
        disk.make_disk(self.layout.image, size, self.layout.disk)
        self.layout.store.mkdir(exist_ok=True)

    def configure(self, authority: Authority, binaries: Mapping[str, Path], settings: Mapping[str, object]) -> None:
        """Write the configuration of the node's programs; ``settings`` are laid over the kubelet's."""
        layout, pki = self.layout, self.bed.pki
        facts = NodeFacts(
            name=self.name,
            address=self.address,
            network=self.block.network(self.index),
            reachable=(self.block.pods, self.block.nodes),
            layout=layout,
            kubelet_port=self.block.node(self.index, "kubelet"),
            healthz_port=self.block.node(self.index, "healthz"),
            stream_port=self.block.node(self.index, "stream"),
            authority=pki / "ca.crt",
            serving=authority.server(f"{self.name}-serving", [self.address, self.name]),
            cni=binaries["ptp"].parent,
            runc=machine.program("runc"),
            shim=binaries["containerd-shim-runc-v2"],
        )
        user = authority.client(self.name, f"system:node:{self.name}", ["system:nodes"])
        write_kubeconfig(self.bed.kubeconfigs / self.name, self.server, pki / "ca.crt", certificate(user))
        (layout.config / "net.d").mkdir(exist_ok=True)
        (layout.config / "certs.d").mkdir(exist_ok=True)
        (layout.config / "resolv.conf").write_text("")
        (layout.config / "kubelet.json").write_text(nodeconfig.kubelet(facts, settings))
        (layout.config / "containerd.toml").write_text(nodeconfig.containerd(facts))
        (layout.config / "net.d" / "10-bed.conflist").write_text(nodeconfig.network(facts))

    def start_containerd(self, binaries: Mapping[str, Path]) -> None:
        """Start containerd."""
        argv = [str(binaries["containerd"]), "--config", str(self.layout.config / "containerd.toml")]
        path = f"{binaries['containerd'].parent}:{self.env.get('PATH', '')}"
        self._start(self.containerd, argv, {**self.env, "PATH": path})

    def load(self, ctr: Path, *loaded: images.Image) -> None:
        """Import images, once containerd answers."""
        wait_until(self.layout.socket.exists, 30, f"{self.containerd} to open its socket")
        for image in loaded:
            with tempfile.NamedTemporaryFile(dir=self.layout.root, suffix=".tar") as handle:
                handle.write(images.archive(image))
                handle.flush()
                disk.run(ctr, "--address", self.layout.socket, "--namespace", "k8s.io", "images", "import", handle.name)

    def load_basics(self, ctr: Path) -> None:
        """The images that every node has: the sandbox's and busybox."""
        busybox = machine.program("busybox")
        self.load(ctr, images.pause(busybox), images.busybox(busybox))

    def start_kubelet(self, binaries: Mapping[str, Path]) -> None:
        """Start the kubelet."""
        argv = [
            str(binaries["kubelet"]),
            f"--config={self.layout.config / 'kubelet.json'}",
            f"--kubeconfig={self.bed.kubeconfigs / self.name}",
            f"--root-dir={self.layout.kubelet}",
            f"--cert-dir={self.layout.kubelet / 'pki'}",
            f"--hostname-override={self.name}",
            f"--node-ip={self.address}",
        ]
        self._start(self.kubelet, argv, self.env)

    def ready(self, kubectl: Kubectl, since: datetime.datetime) -> bool:
        """Whether the Node's kubelet has said so since then (what a dead one said stands for a while)."""
        try:
            conditions = kubectl.get("node", self.name)["status"].get("conditions", [])
        except RefusedError:
            return False
        # Kubernetes writes whole seconds.
        told = since.replace(microsecond=0).strftime("%Y-%m-%dT%H:%M:%SZ")
        return any(
            one["type"] == "Ready" and one["status"] == "True" and one["lastHeartbeatTime"] >= told
            for one in conditions
        )

    def _start(self, name: str, argv: list[str], env: Mapping[str, str]) -> None:
        own = nodeconfig.in_own_mounts(self.bed.root, self.layout, argv)
        self.supervisor.start(Command(name, own, env))
