"""Owns which binary comes from which Go module, and how it is built.

Refuses version numbers: those stand in the go.mod files of tests/cluster/modules and nowhere else.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import BedError

MODULES = Path(__file__).resolve().parent.parent / "cluster" / "modules"

_KUBERNETES_VERSION = "k8s.io/component-base/version"


@dataclass(frozen=True)
class Recipe:
    """One binary: its name in the cache, the module that holds it, its package, its build tags."""

    name: str
    module: str
    package: str
    tags: str = ""

    @property
    def built_as(self) -> str:
        """The name that ``go build -o DIR/`` gives it: the last element that is no major version."""
        parts = [part for part in self.package.split("/") if not re.fullmatch(r"v\d+", part)]
        return parts[-1]


def _rows(module: str, prefix: str, *names: str, tags: str = "") -> tuple[Recipe, ...]:
    return tuple(Recipe(name.rsplit("/", 1)[-1], module, f"{prefix}/{name}", tags) for name in names)


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        *_rows(
            "kubernetes",
            "k8s.io/kubernetes/cmd",
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "kubelet",
            "kubectl",
        ),
        Recipe("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
        *_rows(
            "containerd",
            "github.com/containerd/containerd/v2/cmd",
            "containerd",
            "containerd-shim-runc-v2",
            "ctr",
            tags="no_btrfs no_devmapper no_zfs",
        ),
        *_rows("cni", "github.com/containernetworking/plugins/plugins", "main/ptp", "main/loopback", "ipam/host-local"),
        *_rows("csi-test", "github.com/kubernetes-csi/csi-test/v5/cmd", "csi-sanity"),
        *_rows("kueue", "sigs.k8s.io/kueue/cmd", "kueue"),
        *_rows("helm", "helm.sh/helm/v3/cmd", "helm"),
        *_rows("kubeconform", "github.com/yannh/kubeconform/cmd", "kubeconform"),
        *_rows("registry", "github.com/distribution/distribution/v3/cmd", "registry"),
        *_rows("kwok", "sigs.k8s.io/kwok/cmd", "kwok"),
    )
}

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
NODE = ("kubelet", "containerd", "containerd-shim-runc-v2", "ctr", "ptp", "loopback", "host-local")


def recipe(name: str) -> Recipe:
    """The row of a binary; BedError names the ones that exist."""
    try:
        return RECIPES[name]
    except KeyError:
        raise BedError(f"the bed builds no {name!r}", "it builds " + ", ".join(sorted(RECIPES))) from None


def version(go_mod: str, package: str) -> str:
    """The required version, with its ``v``, of the module that holds ``package``, from a go.mod's text."""
    best = ("", "")
    for path, wanted in re.findall(r"^(?:require\s+|\t)(\S+) (v\S+)", go_mod, re.MULTILINE):
        if (package == path or package.startswith(path + "/")) and len(path) > len(best[0]):
            best = (path, wanted)
    if not best[1]:
        raise BedError(f"no go.mod requires a module that holds {package}")
    return best[1]


def ldflags(module: str, go_mod: str) -> str:
    """Linker flags: stripped, and Kubernetes stamped with the version that rules read from the server."""
    flags = ["-s", "-w"]
    if module == "kubernetes":
        stamp = version(go_mod, "k8s.io/kubernetes/cmd")
        major, minor, _ = stamp.removeprefix("v").split(".", 2)
        for key, value in (("gitVersion", stamp), ("gitMajor", major), ("gitMinor", minor)):
            flags.append(f"-X {_KUBERNETES_VERSION}.{key}={value}")
    return " ".join(flags)


def cache_key(module: str, go_mod: bytes, go_sum: bytes, platform: str) -> str:
    """The cache folder of one module: its name and a hash of all that decides what is built from it."""
    tags = sorted({row.tags for row in RECIPES.values() if row.module == module})
    told = hashlib.sha256()
    for part in (go_mod, go_sum, ldflags(module, go_mod.decode()).encode(), repr(tags).encode(), platform.encode()):
        told.update(len(part).to_bytes(8, "big") + part)
    return f"{module}-{told.hexdigest()[:16]}"
