"""Owns the ports and addresses of a bed: one block each, claimed for its life.

Refuses the kernel's range of outgoing ports: a client could take a port between two starts of a server.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .errors import BedError
from .locks import held

FIRST, SIZE, BLOCKS = 18000, 48, 240
NODES = 8  # as many as a block has ports and addresses for

_CONTROL = ("etcd", "etcd-peer", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "hub")
_NODE = ("kubelet", "healthz", "stream", "hub-link", "spare")


@dataclass(frozen=True)
class Block:
    """The n-th block: its ports by purpose, each node's own address and Pod network."""

    number: int

    @property
    def ports(self) -> range:
        """All ports of the block."""
        return range(FIRST + self.number * SIZE, FIRST + (self.number + 1) * SIZE)

    def control(self, purpose: str) -> int:
        """The port of a part of the control plane."""
        return self.ports[_CONTROL.index(purpose)]

    def node(self, index: int, purpose: str) -> int:
        """The port of a part of a node."""
        return self.ports[len(_CONTROL) + index * len(_NODE) + _NODE.index(purpose)]

    # 198.18.0.0/15 is set aside for tests of networks (RFC 2544): nobody routes it, so it can be nobody else's.
    # Loopback addresses would do for nodes but for two things: the API server proxies to none, and no packet with one
    # passes between a Pod and its node, so that no HTTP probe could ever succeed.

    @property
    def nodes(self) -> str:
        """The bed's network of nodes."""
        return f"198.19.{self.number}.0/24"

    @property
    def pods(self) -> str:
        """The bed's network of Pods."""
        return f"198.18.{self.number}.0/24"

    def address(self, index: int) -> str:
        """A node's own address; it stands on the loopback interface, so nothing of it is reachable from outside."""
        return f"198.19.{self.number}.{index + 1}"

    def network(self, index: int) -> str:
        """A node's Pod network: a gateway and 29 addresses."""
        return f"198.18.{self.number}.{index * 32}/27"


def choose(taken: Iterable[int], usable: Callable[[Block], bool]) -> Block:
    """The first block that nobody claimed and whose ports are free."""
    claimed = frozenset(taken)
    for number in range(BLOCKS):
        if number not in claimed and usable(Block(number)):
            return Block(number)
    raise BedError(f"no free block of {SIZE} ports", "`make bed-sweep` removes what crashed beds left")


def claim(registry: Path, owner: Path) -> Block:
    """Claim a block for the bed in ``owner``; claims of beds whose folder is gone are void."""
    registry.mkdir(parents=True, exist_ok=True)
    with held(registry / "lock"):
        for path in registry.glob("[0-9]*"):
            holder = Path(path.read_text())
            if holder == owner or not holder.exists():
                path.unlink()
        block = choose((int(path.name) for path in registry.glob("[0-9]*")), _free)
        (registry / str(block.number)).write_text(str(owner))
    return block


def release(registry: Path, owner: Path) -> None:
    """Give back what the bed in ``owner`` claimed."""
    if not registry.is_dir():
        return
    with held(registry / "lock"):
        for path in registry.glob("[0-9]*"):
            if path.read_text() == str(owner):
                path.unlink()


def listening(address: str, port: int) -> bool:
    """Whether something accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((address, port)) == 0


def _free(block: Block) -> bool:
    for port in block.ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError:
                return False
    return True
