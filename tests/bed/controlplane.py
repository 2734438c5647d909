"""Owns how etcd, the API server, the controller manager and the scheduler are run.

Refuses anything but loopback: every listener of the control plane binds 127.0.0.1.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .kubeconfig import certificate, token, write_kubeconfig
from .launch import Command
from .layout import Layout
from .pki import Authority, service_account_keys, write_private
from .ports import Block

LOOPBACK = "127.0.0.1"
# No proxy serves Services here, so nothing is ever sent to an address of this range.
_SERVICES = "10.96.0.0/24"
_FRONT_PROXY = "front-proxy-client"
_SERVICE_ADDRESS = "10.96.0.1"


@dataclass(frozen=True)
class ControlPlane:
    """What the four programs share: folders, ports, binaries by name, their environment."""

    layout: Layout
    block: Block
    binaries: Mapping[str, Path]
    env: Mapping[str, str]

    @property
    def server(self) -> str:
        """The API server's URL."""
        return f"https://{LOOPBACK}:{self.block.control('kube-apiserver')}"

    def credentials(self, authority: Authority) -> None:
        """Write what the control plane's programs and the administrator identify themselves with."""
        pki, kube = self.layout.pki, self.layout.kubeconfigs
        authority.server("apiserver", [LOOPBACK, "localhost", "kubernetes.default.svc", _SERVICE_ADDRESS])
        authority.client("apiserver-kubelet", "kube-apiserver-kubelet-client", ["system:masters"])
        authority.client("front-proxy", _FRONT_PROXY)
        service_account_keys(pki)
        admin = secrets.token_urlsafe(32)
        write_private(pki / "tokens.csv", f'{admin},admin,admin,"system:masters"\n'.encode())
        write_kubeconfig(kube / "admin", self.server, authority.pair.certificate, token(admin))
        for name in ("kube-controller-manager", "kube-scheduler"):
            pair = authority.client(name, f"system:{name}")
            write_kubeconfig(kube / name, self.server, authority.pair.certificate, certificate(pair))

    def etcd(self) -> Command:
        """etcd without ``fsync``: a bed's data is worth nothing after a power cut, and tests wait for every write."""
        client = f"http://{LOOPBACK}:{self.block.control('etcd')}"
        peer = f"http://{LOOPBACK}:{self.block.control('etcd-peer')}"
        return self._command(
            "etcd",
            "--name=bed",
            f"--data-dir={self.layout.etcd}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=bed={peer}",
            "--log-level=warn",
        )

    def apiserver(self, flags: Sequence[str] = ()) -> Command:
        """The API server: the administrator's static token, client certificates, bound ServiceAccount tokens."""
        pki = self.layout.pki
        return self._command(
            "kube-apiserver",
            f"--etcd-servers=http://{LOOPBACK}:{self.block.control('etcd')}",
            f"--bind-address={LOOPBACK}",
            f"--advertise-address={LOOPBACK}",
            f"--secure-port={self.block.control('kube-apiserver')}",
            # A loopback address is no valid endpoint of the Service "kubernetes".
            "--endpoint-reconciler-type=none",
            f"--service-cluster-ip-range={_SERVICES}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            "--anonymous-auth=false",
            f"--token-auth-file={pki / 'tokens.csv'}",
            f"--client-ca-file={pki / 'ca.crt'}",
            f"--tls-cert-file={pki / 'apiserver.crt'}",
            f"--tls-private-key-file={pki / 'apiserver.key'}",
            f"--kubelet-certificate-authority={pki / 'ca.crt'}",
            f"--kubelet-client-certificate={pki / 'apiserver-kubelet.crt'}",
            f"--kubelet-client-key={pki / 'apiserver-kubelet.key'}",
            "--kubelet-preferred-address-types=InternalIP",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki / 'sa.pub'}",
            f"--service-account-signing-key-file={pki / 'sa.key'}",
            f"--requestheader-client-ca-file={pki / 'ca.crt'}",
            f"--requestheader-allowed-names={_FRONT_PROXY}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={pki / 'front-proxy.crt'}",
            f"--proxy-client-key-file={pki / 'front-proxy.key'}",
            f"--cert-dir={self.layout.root / 'apiserver'}",
            *flags,
        )

    def controller_manager(self) -> Command:
        """All default controllers, each under its own ServiceAccount."""
        pki, config = self.layout.pki, self.layout.kubeconfigs / "kube-controller-manager"
        return self._command(
            "kube-controller-manager",
            *self._replica("kube-controller-manager", config),
            f"--root-ca-file={pki / 'ca.crt'}",
            f"--service-account-private-key-file={pki / 'sa.key'}",
            f"--cluster-signing-cert-file={pki / 'ca.crt'}",
            f"--cluster-signing-key-file={pki / 'ca.key'}",
            "--use-service-account-credentials=true",
            # A controller starts when its ServiceAccount has a token; the default rate makes that take five seconds.
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        )

    def scheduler(self) -> Command:
        """The default scheduler."""
        return self._command(
            "kube-scheduler", *self._replica("kube-scheduler", self.layout.kubeconfigs / "kube-scheduler")
        )

    def _replica(self, name: str, config: Path) -> list[str]:
        return [
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={self.block.control(name)}",
            f"--cert-dir={self.layout.root / name}",
            "--leader-elect=false",
        ]

    def _command(self, name: str, *arguments: str) -> Command:
        return Command(name, [str(self.binaries[name]), *arguments], self.env)
