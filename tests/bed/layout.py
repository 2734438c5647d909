"""Owns where everything of a bed lies: one folder, nothing beside it but a claim on ports.

Refuses long roots: a unix socket's path ends at 107 bytes and containerd keeps 42 for its shims' folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import BedError

_LONGEST_ROOT = 42 - len("/n0/shim")


def home(environment: Mapping[str, str]) -> Path:
    """The folder of this user's beds. Short on purpose; ``GSM_BED_HOME`` moves it."""
    return Path(environment.get("GSM_BED_HOME") or f"/tmp/gsm-bed-{os.getuid()}")


@dataclass(frozen=True)
class NodeLayout:
    """The folders of one node, below the bed's."""

    root: Path

    @property
    def kubelet(self) -> Path:
        """The kubelet's ``--root-dir``."""
        return self.root / "kubelet"

    @property
    def disk(self) -> Path:
        """Where the node's own store disk is mounted."""
        return self.root / "disk"

    @property
    def store(self) -> Path:
        """The node store's root, a folder of that disk (so that what fills the disk is not inside the store)."""
        return self.disk / "store"

    @property
    def image(self) -> Path:
        """The file behind the disk."""
        return self.root / "disk.img"

    @property
    def logs(self) -> Path:
        """Logs of the node's Pods."""
        return self.root / "pods"

    @property
    def containerd_state(self) -> Path:
        """containerd's state: what runs now."""
        return self.root / "state"

    @property
    def containerd_root(self) -> Path:
        """containerd's root: images and snapshots."""
        return self.root / "root"

    @property
    def socket(self) -> Path:
        """containerd's socket."""
        return self.root / "containerd.sock"

    @property
    def shims(self) -> Path:
        """The sockets of containerd's shims."""
        return self.root / "shim"

    @property
    def own(self) -> Path:
        """The node's own ``/var/lib`` and ``/var/log`` (what its programs hold fixed paths in)."""
        return self.root / "own"

    @property
    def config(self) -> Path:
        """Configuration files of the kubelet, containerd and the Pod network."""
        return self.root / "etc"


@dataclass(frozen=True)
class Layout:
    """The folders of a bed."""

    root: Path

    @property
    def card(self) -> Path:
        """What the bed is: identity, ports, nodes, owner. Written first, removed last."""
        return self.root / "bed.json"

    @property
    def pki(self) -> Path:
        """Certificates and keys."""
        return self.root / "pki"

    @property
    def kubeconfigs(self) -> Path:
        """One kubeconfig per identity."""
        return self.root / "kube"

    @property
    def run(self) -> Path:
        """Records of processes."""
        return self.root / "run"

    @property
    def log(self) -> Path:
        """Output of processes."""
        return self.root / "log"

    @property
    def etcd(self) -> Path:
        """etcd's data."""
        return self.root / "etcd"

    @property
    def hub(self) -> Path:
        """The local hub's repositories, unless the caller brings a folder."""
        return self.root / "hub"

    @property
    def registry(self) -> Path:
        """Claims on port blocks, shared by the beds of one home."""
        return self.root.parent / ".ports"

    @property
    def lock(self) -> Path:
        """Held while a bed goes up or down."""
        return self.root.parent / f".{self.root.name}.lock"

    def node(self, index: int) -> NodeLayout:
        """The folders of a node."""
        return NodeLayout(self.root / f"n{index}")

    def found(self, nodes: int) -> None:
        """Make the bed's folder; BedError for one that is too long or someone else's."""
        if nodes and len(str(self.root)) > _LONGEST_ROOT:
            raise BedError(f"{self.root} is too long for the sockets below it", "set GSM_BED_HOME to a short path")
        _private(self.root.parent)
        _private(self.root)

    def furnish(self, nodes: int) -> None:
        """Make the folders inside, once the card is there to say what they are."""
        for folder in (self.pki, self.kubeconfigs, self.run, self.log, self.etcd, self.hub):
            folder.mkdir(mode=0o700, exist_ok=True)
        for index in range(nodes):
            node = self.node(index)
            folders = (node.kubelet, node.disk, node.logs, node.containerd_state, node.containerd_root, node.config)
            for folder in (node.root, *folders, node.shims, node.own / "lib", node.own / "log"):
                folder.mkdir(parents=True, exist_ok=True)


def _private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if folder.is_symlink() or status.st_uid != os.getuid():
        raise BedError(f"{folder} belongs to someone else", "set GSM_BED_HOME to a folder of yours")
