"""Owns who may act on a bed: the operator, a node's plugin, a tenant of one namespace; one kubeconfig each.

Refuses rights: an identity has what the tested manifests bind to it (a tenant: a ClusterRole in its namespace).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from .kubeconfig import certificate, token, write_kubeconfig
from .kubectl import Kubectl
from .launch import wait_until
from .nodeconfig import PAUSE
from .pki import Authority

SYSTEM_NAMESPACE = "gpustack-system"
OPERATOR = "gpustack-models-operator"
PLUGIN = "gpustack-models-node"
_LIFETIME = "24h"
_READERS = frozenset({"view", "edit", "admin"})


@dataclass(frozen=True)
class Identities:
    """Makes identities on a running bed. ServiceAccounts get bound tokens from the API server, as Pods do."""

    kubectl: Kubectl
    server: str
    authority: Authority
    folder: Path

    def operator(self) -> Path:
        """The operator: a token of its ServiceAccount."""
        return self.service_account(SYSTEM_NAMESPACE, OPERATOR)

    def plugin(self, node: str) -> Path:
        """A node's plugin: a token bound to a Pod of the plugin's ServiceAccount that runs on that node.

        Such a token carries the node's name (``authentication.kubernetes.io/node-name``).
        """
        pod = f"{PLUGIN}-{node}"
        self._account(SYSTEM_NAMESPACE, PLUGIN)
        self.kubectl.within(SYSTEM_NAMESPACE).apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": pod},
                "spec": {
                    "serviceAccountName": PLUGIN,
                    "nodeName": node,
                    "terminationGracePeriodSeconds": 0,
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "stand-in", "image": PAUSE, "imagePullPolicy": "Never"}],
                },
            }
        )
        value = self.token(SYSTEM_NAMESPACE, PLUGIN, pod=pod)
        return self._write(f"plugin-{node}", token(value), SYSTEM_NAMESPACE)

    def service_account(self, namespace: str, name: str) -> Path:
        """Any ServiceAccount, made when it is not there."""
        self._account(namespace, name)
        return self._write(f"{namespace}-{name}", token(self.token(namespace, name)), namespace)

    def tenant(self, namespace: str, role: str = "edit") -> Path:
        """A person who may act in one namespace alone, by ClusterRole ``role``: a client certificate."""
        # The subject's common name holds 64 characters; a namespace's name may have 63.
        user = f"tenant-{hashlib.sha256(namespace.encode()).hexdigest()[:12]}"
        self.kubectl.within(namespace).apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "bed-tenant"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
            }
        )
        pair = self.authority.client(user, user, ["tenants"])
        path = self._write(f"tenant-{namespace}", certificate(pair), namespace)
        person = self.kubectl.acting_as(path).within(namespace)
        if role in _READERS:
            # The API server learns of a binding a moment after it is written.
            wait_until(lambda: person.may("get", "pods"), 60, f"{user}'s rights")
        return path

    def token(self, namespace: str, name: str, *, pod: str = "", audience: str = "") -> str:
        """A fresh token of a ServiceAccount, from the TokenRequest interface."""
        options = [f"--duration={_LIFETIME}"]
        if pod:
            options += ["--bound-object-kind=Pod", f"--bound-object-name={pod}"]
        if audience:
            options.append(f"--audience={audience}")
        return self.kubectl.within(namespace)("create", "token", name, *options).strip()

    def _account(self, namespace: str, name: str) -> None:
        self.kubectl.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}},
        )

    def _write(self, name: str, user: dict[str, str], namespace: str) -> Path:
        authority = self.authority.pair.certificate
        return write_kubeconfig(self.folder / name, self.server, authority, user, namespace)
