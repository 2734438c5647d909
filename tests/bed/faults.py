"""Owns the faults a test may ask for: what happens to real clusters, done to real processes and disks.

Refuses to leave them: every fault has its way back, and the forms with ``with`` take it whatever happens.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from . import disk, hub
from .errors import BedError
from .launch import kill

if TYPE_CHECKING:
    from .bed import Bed

_FILL = "filled-by-a-test"
_STEP = 4096
APISERVER = "kube-apiserver"


class Faults:
    """The faults of one bed."""

    def __init__(self, bed: Bed) -> None:
        self._bed = bed

    def stop_apiserver(self) -> None:
        """End the API server; etcd keeps its objects."""
        # It would wait for its watchers to leave for as long as a minute.
        self._bed.supervisor.stop(APISERVER, patience=0.5)

    def start_apiserver(self) -> None:
        """Start it again, on the same port; returns when it is ready."""
        self._bed.start_apiserver()

    @contextlib.contextmanager
    def apiserver_down(self) -> Iterator[None]:
        """No API server within the block."""
        self.stop_apiserver()
        try:
            yield
        finally:
            self.start_apiserver()

    def freeze(self, name: str) -> None:
        """Stop a process in mid-air: its sockets accept, nothing answers."""
        self._bed.supervisor.send(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a frozen process go on."""
        self._bed.supervisor.send(name, signal.SIGCONT)

    @contextlib.contextmanager
    def frozen(self, name: str) -> Iterator[None]:
        """A process frozen within the block."""
        self.freeze(name)
        try:
            yield
        finally:
            self.thaw(name)

    def kill(self, name: str) -> None:
        """``kill -9`` of a process of the bed, a guest's too; returns when it is gone."""
        identity = self._bed.supervisor.identity(name)
        if identity is None or not self._bed.supervisor.running(name):
            raise BedError(f"{name} is not running")
        kill([identity])

    def kill_kubelet(self, node: int) -> None:
        """``kill -9`` of a node's kubelet; its Pods run on."""
        self.kill(self._bed.node(node).kubelet)

    def start_kubelet(self, node: int) -> None:
        """Start a node's kubelet again; returns when the Node is Ready."""
        self._bed.start_kubelet(node)

    def fill_store(self, node: int, leave: int = 0) -> int:
        """Fill a node's store disk but for ``leave`` bytes, beside the store; returns how many bytes were taken."""
        target = self._bed.node(node).layout.disk / _FILL
        with target.open("ab") as handle:
            return _take(handle.fileno(), leave)

    def free_store(self, node: int) -> None:
        """Take back what ``fill_store`` took."""
        (self._bed.node(node).layout.disk / _FILL).unlink(missing_ok=True)

    def read_only_store(self, node: int, on: bool = True) -> None:
        """Turn a node's store disk read-only, or back."""
        disk.run("mount", "-o", f"remount,{'ro' if on else 'rw'}", self._bed.node(node).layout.disk)

    def cut_hub(self, node: int, how: Literal["refused", "silent"] = "refused") -> None:
        """Cut a node off its hub: connections are refused and open ones broken, or nothing is answered any more."""
        name = hub.link(self._bed.node(node).name)
        if how == "silent":
            self.freeze(name)
        else:
            self.kill(name)

    def join_hub(self, node: int) -> None:
        """Undo ``cut_hub``, either kind."""
        name = hub.link(self._bed.node(node).name)
        if self._bed.supervisor.running(name):
            self.thaw(name)
        else:
            self._bed.start_link(node)


def _take(descriptor: int, leave: int) -> int:
    """Grow a file until ``leave`` bytes or less are free, halving the step when it no longer fits."""
    size = os.fstat(descriptor).st_size
    start, step = size, 1 << 40
    while (step := min(step, _free(descriptor) - leave)) >= _STEP:
        try:
            os.posix_fallocate(descriptor, size, step)
            size += step
        except OSError:
            step //= 2
            os.ftruncate(descriptor, size)
    # The filesystem takes a block of its own now and then to note what was taken.
    while leave and size > start and _free(descriptor) < leave:
        size -= _STEP
        os.ftruncate(descriptor, size)
    return size - start


def _free(descriptor: int) -> int:
    state = os.fstatvfs(descriptor)
    return state.f_bavail * state.f_frsize
