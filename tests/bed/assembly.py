"""Owns the order in which a bed starts: what needs nothing first, so that the slow parts overlap.

Refuses to wait where a program waits by itself: the API server looks for etcd until it is there.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from . import disk, hub, ports, sysctl
from .controlplane import LOOPBACK
from .pki import Authority

if TYPE_CHECKING:
    from .bed import Bed


def assemble(bed: Bed, binaries: Mapping[str, Path]) -> dict[str, float]:
    """Start everything of a bed whose folder and ports are claimed; returns seconds by what they were for."""
    control, authority = bed.control_plane(), bed.authority
    control.credentials(authority)
    started = time.monotonic()
    bed.supervisor.start(control.etcd())
    if bed.options.hub:
        port = bed.block.control("hub")
        bed.supervisor.start(hub.serve(bed.hub_dir, port, bed.options.hub_flags, bed.env()))
    _prepare_nodes(bed, authority, binaries)
    bed.start_apiserver()
    for command in (control.controller_manager(), control.scheduler()):
        bed.supervisor.start(command)
    bed.wait_for("kube-controller-manager", lambda: bed.kubectl.exists("serviceaccount", "default"))
    timings = {"control plane": time.monotonic() - started}
    if bed.nodes:
        timings["nodes"] = _start_nodes(bed, binaries)
    if bed.options.hub:
        bed.wait_for(hub.NAME, lambda: ports.listening(LOOPBACK, bed.block.control("hub")))
        for node in bed.nodes:
            bed.start_link(node.index)
    return timings


def _prepare_nodes(bed: Bed, authority: Authority, binaries: Mapping[str, Path]) -> None:
    if not bed.nodes:
        return
    sysctl.keep(bed.layout.root.parent)
    disk.share(bed.layout.root)
    for node in bed.nodes:
        disk.add_address(node.address)
        node.make_disk(bed.options.disk)
        node.configure(authority, binaries, bed.options.kubelet)
        node.start_containerd(binaries)


def _start_nodes(bed: Bed, binaries: Mapping[str, Path]) -> float:
    started = datetime.datetime.now(datetime.UTC)
    for node in bed.nodes:
        bed.wait_for(node.containerd, node.layout.socket.exists)
        node.load_basics(binaries["ctr"])
        node.start_kubelet(binaries)
    for node in bed.nodes:
        bed.wait_for(node.kubelet, lambda node=node: node.ready(bed.kubectl, started))  # type: ignore[misc]
    return (datetime.datetime.now(datetime.UTC) - started).total_seconds()
