"""Owns a bed: a Kubernetes control plane and N nodes in one folder, up in seconds, gone without a trace.

Refuses what it did not start, and to hide why it cannot start: the failing program's last lines are in the error.
"""

from __future__ import annotations

import base64
import datetime
import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import assembly, cleaning, hub, images, machine, ports
from .cache import Cache, say
from .card import Card, read_card
from .controlplane import LOOPBACK, ControlPlane
from .errors import BedError
from .faults import Faults
from .health import healthy
from .identities import Identities
from .kubectl import Kubectl
from .launch import Command, Supervisor, wait_until
from .layout import Layout
from .locks import held
from .node import Node
from .pki import Authority, Pair
from .ports import Block
from .processes import Identity
from .recipes import CONTROL_PLANE

_READY = 120.0
# Their state goes with the bed, so nobody asks them to end well.
OWN = (
    *CONTROL_PLANE,
    hub.NAME,
    *(f"{program}-{n}" for program in ("kubelet", "containerd") for n in range(ports.NODES)),
)


@dataclass(frozen=True)
class Options:
    """How a bed is made.

    ``disk``: the bytes of each node's store disk. ``hub``: whether a local hub stands beside it, over ``repositories``
    (else ``Bed.hub_dir``). ``kubelet``, ``apiserver``, ``hub_flags``: laid over what the bed says itself.
    ``owner``: the process that the bed lives for.
    """

    nodes: int = 0
    disk: int = 1 << 30
    hub: bool = False
    repositories: Path | None = None
    hub_flags: Sequence[str] = ()
    kubelet: Mapping[str, object] = field(default_factory=dict)
    apiserver: Sequence[str] = ()
    owner: Identity | None = None


class Bed:
    """One bed, in ``root``. ``up`` starts it, ``down`` removes it; both may be called at any time."""

    def __init__(
        self,
        root: Path,
        options: Options = Options(),
        environment: Mapping[str, str] | None = None,
        tell: Callable[[str], None] = say,
    ) -> None:
        if options.nodes > ports.NODES:
            raise BedError(f"a bed has {ports.NODES} nodes at most")
        self._environment = dict(os.environ if environment is None else environment)
        self.layout = Layout(root)
        self.options = options
        self.cache = Cache(self._environment, tell)
        self.timings: dict[str, float] = {}
        self._tell = tell
        self._card = read_card(self.layout.card)

    # Where things are

    @property
    def block(self) -> Block:
        """The bed's ports and addresses."""
        return Block(self.card.block)

    @property
    def card(self) -> Card:
        """What the bed is; BedError when it is not up."""
        if self._card is None:
            raise BedError(f"no bed is up in {self.layout.root}", "`make cluster-up` starts one")
        return self._card

    @property
    def server(self) -> str:
        """The API server's URL."""
        return f"https://{LOOPBACK}:{self.block.control('kube-apiserver')}"

    @property
    def hub_url(self) -> str:
        """The local hub's URL (a node's own way to it: ``Node.hub_url``)."""
        return f"http://{LOOPBACK}:{self.block.control('hub')}"

    @property
    def hub_dir(self) -> Path:
        """The folder of repositories that the hub serves."""
        return self.options.repositories or self.layout.hub

    @property
    def supervisor(self) -> Supervisor:
        """Starts and stops the bed's processes."""
        return Supervisor(self.layout.run, self.layout.log, self.card.mark)

    @property
    def authority(self) -> Authority:
        """The bed's certificate authority."""
        return Authority(self.layout.pki, datetime.datetime.now(datetime.UTC))

    @property
    def faults(self) -> Faults:
        """The faults that a test may ask for."""
        return Faults(self)

    @property
    def kubectl(self) -> Kubectl:
        """kubectl as the administrator."""
        return Kubectl(self._kubectl(), self.kubeconfig("admin"))

    @property
    def identities(self) -> Identities:
        """Who else may act."""
        return Identities(self.kubectl, self.server, self.authority, self.layout.kubeconfigs)

    def kubeconfig(self, name: str) -> Path:
        """The kubeconfig of an identity that was made (``admin`` always is)."""
        return self.layout.kubeconfigs / name

    def node(self, index: int) -> Node:
        """The n-th node."""
        if index >= self.card.nodes:
            raise BedError(f"the bed has {self.card.nodes} nodes, counted from 0")
        return Node(index, self.layout, self.block, self.server, self.env(), self.supervisor)

    @property
    def nodes(self) -> list[Node]:
        """All nodes."""
        return [self.node(index) for index in range(self.card.nodes)]

    def certificate(self, name: str, hosts: Sequence[str] = (LOOPBACK,)) -> Pair:
        """A server certificate of the bed's authority, for a webhook or a peer that a test serves."""
        return self.authority.server(name, hosts)

    def ca_bundle(self) -> str:
        """The authority's certificate as Kubernetes objects carry it (base64 of PEM)."""
        return base64.b64encode(self.authority.pair.certificate.read_bytes()).decode()

    def spawn(self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None) -> Identity:
        """Run a process beside the bed (an operator, a node plugin): logged, killable by name, gone with the bed."""
        return self.supervisor.start(Command(name, argv, {**self.env(), **(env or {})}))

    def stop(self, name: str) -> None:
        """Ask a process beside the bed to end, and insist after ten seconds."""
        self.supervisor.stop(name)

    def load_image(self, image: images.Image) -> None:
        """Make an image known to every node."""
        for node in self.nodes:
            node.load(self._binaries()["ctr"], image)

    # Up and down

    def running(self) -> bool:
        """Whether the bed is up and each of its own programs runs; guests come and go."""
        if self._card is None:
            return False
        names = {name for name in self.supervisor.names() if name in OWN}
        return names.issuperset(CONTROL_PLANE) and all(self.supervisor.running(name) for name in names)

    def up(self) -> None:
        """Start the bed; what a crashed one left in its folder is cleaned first. A bed that runs is left as it is."""
        with held(self.layout.lock):
            self._card = read_card(self.layout.card)
            if self.running():
                return
            cleaning.clean(self.layout, OWN)
            binaries = self._binaries()
            started = time.monotonic()
            try:
                self._card = self._claim()
                self.timings.update(assembly.assemble(self, binaries))
            except BaseException:
                cleaning.clean(self.layout, OWN)
                self._card = None
                raise
            self.timings["up"] = time.monotonic() - started

    def down(self) -> None:
        """Remove the bed and all that it started; one that is not up, or half up, is fine."""
        with held(self.layout.lock, remove=True):
            cleaning.clean(self.layout, OWN)
            self._card = None

    # What starts and stops while it is up

    def start_apiserver(self) -> None:
        """Start the API server and wait until it is ready."""
        self.supervisor.start(self.control_plane().apiserver(self.options.apiserver))
        self.wait_for("kube-apiserver", lambda: healthy(self.server + "/readyz", self.kubeconfig("admin")))

    def start_kubelet(self, index: int) -> None:
        """Start a node's kubelet and wait until the Node is Ready."""
        node, since = self.node(index), datetime.datetime.now(datetime.UTC)
        node.start_kubelet(self._binaries())
        self.wait_for(node.kubelet, lambda: node.ready(self.kubectl, since))

    def start_link(self, index: int) -> None:
        """Start a node's way to the hub."""
        node = self.node(index)
        listen, target = self.block.node(index, "hub-link"), self.block.control("hub")
        command = hub.relay(node.name, (LOOPBACK, node.address), listen, target, self.env())
        self.supervisor.start(command)
        self.wait_for(command.name, lambda: ports.listening(LOOPBACK, listen))

    def wait_for(self, name: str, done: Callable[[], bool]) -> None:
        """Wait for a program's work; its death, or the end of patience, is an error with its last lines."""

        def settled() -> bool:
            if not self.supervisor.running(name):
                raise BedError(f"{name} ended", self.supervisor.tail(name))
            return done()

        try:
            wait_until(settled, _READY, name, tick=0.05)
        except BedError as error:
            raise BedError(error.message, error.hint or self.supervisor.tail(name)) from None

    def control_plane(self) -> ControlPlane:
        """How the control plane's programs are run."""
        return ControlPlane(self.layout, self.block, self._binaries(), self.env())

    def env(self) -> dict[str, str]:
        """The environment of the bed's processes: a token or a proxy of the caller's is not meant for them."""
        return {"PATH": self._environment.get("PATH", os.defpath), "HOME": str(self.layout.root)}

    def _claim(self) -> Card:
        self.layout.found(self.options.nodes)
        block = ports.claim(self.layout.registry, self.layout.root)
        card = Card(secrets.token_hex(8), block.number, self.options.nodes, self.options.owner)
        card.write(self.layout.card)
        self.layout.furnish(self.options.nodes)
        return card

    def _binaries(self) -> dict[str, Path]:
        return self.cache.ensure(*machine.binaries("node" if self.options.nodes else "cluster"))

    def _kubectl(self) -> Path:
        found = shutil.which("kubectl", path=self._environment.get("PATH"))
        return self.cache.find("kubectl") or (Path(found) if found else self.cache.ensure("kubectl")["kubectl"])
