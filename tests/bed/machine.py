"""Owns what a machine must have for a tier, and the one line that says what it lacks and how to get it.

Refuses to install anything by itself: ``make bed-deps`` does, when a person or CI asks.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .cache import Cache
from .disk import tools
from .errors import BedError
from .recipes import CONTROL_PLANE, NODE

PACKAGES = {
    "runc": "runc",
    "busybox-static": "busybox",
    "e2fsprogs": "mkfs.ext4",
    "util-linux": "unshare",
    "mount": "losetup",
}
_GO = "Go 1.21 or newer, which fetches the version it needs"


@dataclass(frozen=True)
class Machine:
    """What was found: the user id, missing Debian packages, whether Go is there, binaries still to be built."""

    root: bool
    packages: tuple[str, ...]
    go: bool
    unbuilt: tuple[str, ...]


def look(environment: Mapping[str, str], tier: str, cache: Cache) -> Machine:
    """Look at the machine on behalf of a tier."""
    missing = tuple(package for package, program in PACKAGES.items() if not _has(package, program))
    return Machine(
        root=os.geteuid() == 0,
        packages=missing,
        go=shutil.which("go", path=environment.get("PATH")) is not None,
        unbuilt=tuple(cache.missing(binaries(tier))),
    )


def binaries(tier: str) -> tuple[str, ...]:
    """What a tier runs."""
    return (*CONTROL_PLANE, *NODE) if tier == "node" else CONTROL_PLANE


def lacks(tier: str, machine: Machine) -> str:
    """One line on what the machine lacks for the tier, with the command that installs it; empty when nothing."""
    said = []
    if machine.unbuilt and not machine.go:
        said.append(f"no Go to build {', '.join(machine.unbuilt)} (install {_GO}: https://go.dev/doc/install)")
    if tier == "node":
        if not machine.root:
            said.append("not root (run it with `sudo -E`)")
        if machine.packages:
            names = " ".join(machine.packages)
            said.append(f"no {names} (`apt-get install -y --no-install-recommends {names}`)")
    return f"the {tier} tier cannot run here: {'; '.join(said)}" if said else ""


def program(name: str) -> Path:
    """One of the machine's programs; BedError when it went away since ``lacks`` was asked."""
    found = shutil.which(name, path=tools())
    if found is None:
        raise BedError(f"{name} is missing", "see `make bed-lacks`")
    return Path(found)


def static(head: bytes) -> bool:
    """Whether an ELF file, by its first bytes, asks for no dynamic loader (its path would stand there)."""
    return head.startswith(b"\x7fELF") and b"/ld-linux" not in head and b"/ld-musl" not in head


def _has(package: str, program: str) -> bool:
    path = shutil.which(program, path=tools())
    if path is None or package != "busybox-static":
        return path is not None
    with open(path, "rb") as handle:
        return static(handle.read(4096))
