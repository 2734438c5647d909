"""Owns what is removed when a bed goes: a pure plan from what was observed, then its execution.

Refuses what the bed did not start, and to delete a folder while anything is mounted below it.
"""

from __future__ import annotations

import ipaddress
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from . import disk, ports, sysctl
from .card import Card, read_card
from .errors import BedError
from .launch import end, kill, wait_until
from .layout import Layout
from .locks import held
from .processes import Identity, Process, alive, belonging, parse_record, table

_ROUNDS = 50


@dataclass(frozen=True)
class Facts:
    """What one look at the machine gave; ``recorded`` are the bed's records by name, ``mounts`` the latest first."""

    rows: tuple[Process, ...]
    recorded: Mapping[str, Identity]
    mark: str
    containers: frozenset[str]
    mounts: tuple[Path, ...]
    loops: tuple[str, ...]
    cgroups: tuple[Path, ...]
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What to do, in this order: ask the guests to end, kill the rest, unmount (latest first), give back, remove."""

    ask: tuple[Identity, ...]
    kill: tuple[Identity, ...]
    unmount: tuple[Path, ...]
    detach: tuple[str, ...]
    cgroups: tuple[Path, ...]
    addresses: tuple[str, ...]

    @property
    def empty(self) -> bool:
        """Whether nothing of the bed is left on the machine."""
        return not (self.ask or self.kill or self.unmount or self.detach or self.cgroups or self.addresses)


def plan(facts: Facts, own: Iterable[str]) -> Plan:
    """Decide. ``own`` names the bed's programs: their state is worth nothing, so they are not asked.

    Everything else that was started (an operator, a node plugin) is asked first, and killed only if it stays.
    """
    mine = frozenset(own)
    guests = frozenset(identity for name, identity in facts.recorded.items() if name not in mine)
    found = belonging(facts.rows, facts.recorded.values(), facts.mark, facts.containers)
    return Plan(
        ask=tuple(row.identity for row in found if row.identity in guests),
        kill=tuple(row.identity for row in found if row.identity not in guests),
        unmount=facts.mounts,
        detach=facts.loops,
        cgroups=facts.cgroups,
        addresses=facts.addresses,
    )


def observe(layout: Layout) -> Facts:
    """Look at the machine."""
    card = read_card(layout.card)
    nodes = [layout.node(int(path.name[1:])) for path in layout.root.glob("n[0-9]*")]
    containers = frozenset(
        bundle.name
        for node in nodes
        for bundle in node.containerd_state.glob("io.containerd.runtime.v2.task/k8s.io/*")
        if bundle.is_dir()
    )
    records = {path.name: parse_record(path.read_text()) for path in layout.run.glob("*") if path.suffix != ".new"}
    return Facts(
        rows=table(),
        recorded={name: identity for name, identity in records.items() if identity is not None},
        mark=card.mark if card else "",
        containers=containers,
        mounts=tuple(disk.mounts_below(layout.root)),
        loops=tuple(device for node in nodes for device in disk.loop_devices(node.image)),
        cgroups=tuple(path for name in containers for path in Path("/sys/fs/cgroup").glob(f"**/k8s.io/{name}")),
        addresses=_addresses(card) if nodes else (),
    )


def _addresses(card: Card | None) -> tuple[str, ...]:
    if card is None:
        return ()
    block = ipaddress.ip_network(ports.Block(card.block).nodes)
    return tuple(address for address in disk.addresses() if ipaddress.ip_address(address) in block)


def clean(layout: Layout, own: Iterable[str]) -> None:
    """Remove a bed, whatever state a crash left it in; nothing there is fine."""
    if layout.root.exists():
        _must_be_a_bed(layout)
        names = frozenset(own)
        first = plan(observe(layout), names)
        end(first.ask, patience=5)
        _kill_all(layout, names)
        left = plan(observe(layout), names)
        disk.unmount(left.unmount, layout.root)
        for device in left.detach:
            disk.detach(device)
        for address in left.addresses:
            disk.remove_address(address)
        _remove_cgroups((*first.cgroups, *left.cgroups))
        still = disk.mounts_below(layout.root)
        if still:
            raise BedError(f"{still[0]} is still mounted", "see what uses it with `fuser -vm`")
        _remove(layout)
    ports.release(layout.registry, layout.root)
    sysctl.restore_if_last(layout.root.parent)


def sweep(home: Path, own: Iterable[str]) -> list[Path]:
    """Clean the beds whose owner is gone (a killed test session); a person's bed has none. Returns their folders."""
    names = frozenset(own)
    swept = []
    for folder in sorted(path for path in home.glob("*") if path.is_dir() and not path.name.startswith(".")):
        if not _orphaned(folder):
            continue
        with held(Layout(folder).lock, remove=True):
            if _orphaned(folder):
                clean(Layout(folder), names)
                swept.append(folder)
    return swept


def _orphaned(folder: Path) -> bool:
    card = read_card(folder / "bed.json")
    return card is not None and card.owner is not None and not alive(card.owner)


def _must_be_a_bed(layout: Layout) -> None:
    """The card is the first file of a bed and the last one to go: a folder with others and without it is no bed."""
    if layout.root.is_symlink() or not layout.root.is_dir():
        raise BedError(f"{layout.root} is no folder")
    others = [path.name for path in layout.root.iterdir() if path != layout.card.with_suffix(".new")]
    if others and layout.card.name not in others:
        raise BedError(
            f"{layout.root} is no bed: it holds {others[0]} and no {layout.card.name}", "nothing was removed"
        )


def _remove(layout: Layout) -> None:
    for path in layout.root.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != layout.card:
            path.unlink()
    layout.card.unlink(missing_ok=True)
    layout.root.rmdir()


def _kill_all(layout: Layout, own: frozenset[str]) -> None:
    # A process may fork between a look and a signal: look again until a look finds nothing.
    for _ in range(_ROUNDS):
        left = plan(observe(layout), own)
        if not (left.ask or left.kill):
            return
        kill((*left.ask, *left.kill))
    raise BedError(f"processes of {layout.root} keep coming back")


def _remove_cgroups(folders: Iterable[Path]) -> None:
    # Deepest first; the kernel frees a cgroup a moment after its last process died.
    def gone(folder: Path) -> bool:
        try:
            for child in sorted(folder.glob("**/"), reverse=True):
                child.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return not folder.exists()

    for folder in dict.fromkeys(folders):
        wait_until(lambda folder=folder: gone(folder), 30, f"{folder} to be freed")  # type: ignore[misc]
