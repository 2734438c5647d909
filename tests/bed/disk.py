"""Owns what a bed takes of the machine: mounts, a loop device per node's store, an address per node.

Refuses to unmount anything that is not at or below the folder it is given.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .errors import BedError


def tools() -> str:
    """Where system commands are looked for: root's folders are not on everybody's ``PATH``."""
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def run(*argv: str | Path) -> str:
    """Run a system command; BedError carries what it said."""
    done = subprocess.run([str(word) for word in argv], text=True, capture_output=True, env={"PATH": tools()})
    if done.returncode:
        raise BedError(f"`{' '.join(str(word) for word in argv)}` failed", done.stderr.strip())
    return done.stdout


def mount_points(mountinfo: str) -> list[Path]:
    """The mount points of a ``mountinfo`` table in mount order, octal escapes undone."""
    points = (line.split(" ")[4] for line in mountinfo.splitlines())
    return [Path(re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), point)) for point in points]


def mounts_below(folder: Path) -> list[Path]:
    """Mount points at or below a folder, the latest first: the order in which they can go."""
    points = mount_points(Path("/proc/self/mountinfo").read_text())
    return [point for point in reversed(points) if point == folder or folder in point.parents]


def share(folder: Path) -> None:
    """Make a folder a mount of its own whose mounts are seen in every namespace that holds it."""
    run("mount", "--bind", folder, folder)
    run("mount", "--make-shared", folder)


def make_disk(image: Path, size: int, at: Path) -> None:
    """A filesystem of ``size`` bytes in a sparse file, mounted; no reserved blocks, so that full means full."""
    with image.open("wb") as handle:
        handle.truncate(size)
    run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1", image)
    run("mount", "-o", "loop,nodev", image, at)


def unmount(points: Sequence[Path], below: Path) -> None:
    """Unmount in the given order; what is still busy is detached, and goes when its last user does."""
    for point in points:
        if point != below and below not in point.parents:
            raise BedError(f"{point} is not below {below}")
        try:
            run("umount", point)
        except BedError:
            subprocess.run(["umount", "--lazy", str(point)], capture_output=True, env={"PATH": tools()})


def addresses() -> list[str]:
    """Addresses that stand on the loopback interface."""
    shown = run("ip", "-4", "-oneline", "address", "show", "dev", "lo")
    return re.findall(r" inet ([0-9.]+)/", shown)


def add_address(address: str) -> None:
    """Let the machine answer to an address, by its loopback interface alone."""
    run("ip", "address", "replace", f"{address}/32", "dev", "lo", "scope", "host")


def remove_address(address: str) -> None:
    """Undo ``add_address``."""
    run("ip", "address", "delete", f"{address}/32", "dev", "lo")


def loop_devices(image: Path) -> list[str]:
    """Loop devices whose backing file is ``image`` (a removed file keeps its name, with a mark)."""
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        if backing.read_text().strip().removesuffix(" (deleted)") == str(image):
            found.append(f"/dev/{backing.parts[3]}")
    return found


def detach(device: str) -> None:
    """Give back a loop device."""
    subprocess.run(["losetup", "--detach", device], capture_output=True, env={"PATH": tools()})
