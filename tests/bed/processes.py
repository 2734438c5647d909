"""Owns how the bed knows a process again: by id and start time, by an inherited mark, by its container.

Refuses names and command lines: another's process may carry the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

# Every process of a bed starts with this variable; what those start (shims, hooks) inherits it.
MARK = "GSM_BED_ID"

PROC = Path("/proc")


@dataclass(frozen=True)
class Identity:
    """A process for good: ids come round again, but not with the same start time in the same boot."""

    pid: int
    start: int
    boot: str


@dataclass(frozen=True)
class Process:
    """One row of the process table. ``cgroups`` are the elements of its cgroup paths."""

    identity: Identity
    parent: int
    state: str
    threads: int = 1
    mark: str = ""
    cgroups: frozenset[str] = frozenset()

    @property
    def dead(self) -> bool:
        """A zombie waits for its parent to read its status; until its last thread is gone it holds ports and mounts."""
        return self.state in "ZX" and self.threads <= 1


def parse_stat(text: str, boot: str) -> Process:
    """A row without mark and cgroups from a ``/proc/PID/stat`` line; the name in it may hold spaces and brackets."""
    head, _, tail = text.rpartition(")")
    pid = int(head.split(" ", 1)[0])
    fields = tail.split()
    return Process(Identity(pid, int(fields[19]), boot), int(fields[1]), fields[0], int(fields[17]))


def format_record(identity: Identity) -> str:
    """The file that the bed keeps of a process (a shell writes the same, see ``launch``)."""
    return f"{identity.boot}\n{identity.pid} (-) - 0 {'0 ' * 17}{identity.start}\n"


def parse_record(text: str) -> Identity | None:
    """The identity in a record; None for one that a crash cut short."""
    boot, _, stat = text.partition("\n")
    try:
        return parse_stat(stat, boot.strip()).identity
    except (ValueError, IndexError):
        return None


def boot_id() -> str:
    """The running kernel's boot: start times of another one say nothing."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def observe(pid: int, boot: str) -> Process | None:
    """The process table's row of ``pid`` now, or None."""
    folder = PROC / str(pid)
    try:
        row = parse_stat((folder / "stat").read_text(), boot)
    except (OSError, ValueError, IndexError):
        return None
    return replace(row, mark=_mark(folder), cgroups=_cgroups(folder))


def current() -> Identity:
    """The process that asks: what a test session's bed lives for."""
    return parse_stat((PROC / "self/stat").read_text(), boot_id()).identity


def table() -> tuple[Process, ...]:
    """Every process that this user may see."""
    boot = boot_id()
    rows = (observe(int(path.name), boot) for path in PROC.iterdir() if path.name.isdigit())
    return tuple(row for row in rows if row is not None)


def alive(identity: Identity) -> bool:
    """Whether that very process still runs; another one with its id does not count."""
    row = observe(identity.pid, boot_id())
    return row is not None and row.identity == identity and not row.dead


def belonging(
    rows: Iterable[Process], recorded: Iterable[Identity], mark: str, containers: Iterable[str]
) -> tuple[Process, ...]:
    """The rows that a bed started: recorded, or marked, or inside one of its containers."""
    known, inside = frozenset(recorded), frozenset(containers)
    return tuple(
        row
        for row in rows
        if not row.dead and (row.identity in known or (mark and row.mark == mark) or row.cgroups & inside)
    )


def _mark(folder: Path) -> str:
    try:
        environment = (folder / "environ").read_bytes()
    except OSError:
        return ""
    found = re.search(rb"(?:^|\0)" + MARK.encode() + rb"=([^\0]*)", environment)
    return found.group(1).decode(errors="replace") if found else ""


def _cgroups(folder: Path) -> frozenset[str]:
    try:
        lines = (folder / "cgroup").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(part for line in lines for part in line.split("/")[1:])
