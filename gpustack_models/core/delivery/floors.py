"""Owns what a node must run to mount an image volume, and the sentence that says which floor it misses.

Refuses versions that it cannot read: they block, as an older one does.
"""

from __future__ import annotations

import re

from gpustack_models.core.facts import Node
from gpustack_models.core.reasons import Blocked, WaitReason

KUBELET = (1, 35)
CONTAINERD = (2, 1)
_KUBELET = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:[.+-].*)?")
_RUNTIME = re.compile(r"([a-z0-9.-]+)://v?(\d{1,4})\.(\d{1,4})(?:[.+~-].*)?")


def node_blocks(name: str, node: Node | None) -> Blocked | None:
    """Why the node that an Instance is pinned to cannot mount an image, or None (workloads.md, "Instance")."""
    if node is None:
        return Blocked(WaitReason.NODE_NOT_FOUND, f"node {name!r} does not exist; it is waited for")
    wrong = _kubelet(node.kubelet_version) or _runtime(node.runtime_version)
    if not wrong:
        return None
    return Blocked(
        WaitReason.NODE_CANNOT_MOUNT_IMAGES,
        f"node {name!r} cannot mount an image: {wrong}; upgrade the node, or pin the Instance to another one",
    )


def _kubelet(version: str) -> str:
    needs = f"kubelet {KUBELET[0]}.{KUBELET[1]} is needed"
    found = _KUBELET.fullmatch(version)
    if found is None:
        return f"{needs}, and its version {version!r} cannot be read"
    return "" if (int(found[1]), int(found[2])) >= KUBELET else f"{needs}, and it runs {version}"


def _runtime(version: str) -> str:
    needs = f"containerd {CONTAINERD[0]}.{CONTAINERD[1]} is needed"
    found = _RUNTIME.fullmatch(version)
    if found is None:
        return f"{needs}, and its runtime {version!r} cannot be read"
    if found[1] != "containerd" or (int(found[2]), int(found[3])) < CONTAINERD:
        return f"{needs}, and it runs {version}"
    return ""
