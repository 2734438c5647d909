"""Owns the kernel settings that nodes write: kept before the first one starts, put back after the last is gone.

Refuses to touch any other setting.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from .card import read_card
from .locks import held

# pkg/kubelet/cm sets these whenever protectKernelDefaults is off; with it on, it refuses machines that differ.
_WRITTEN = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
    "net/ipv4/ip_forward",  # by the Pod network
)
_KEPT = ".sysctl.json"
_SYSCTL = Path("/proc/sys")


def keep(home: Path) -> None:
    """Note the machine's own values, unless a bed with nodes is already up (then they are noted)."""
    with held(home / ".sysctl.lock"):
        if not (home / _KEPT).exists():
            new = home / f"{_KEPT}.new"
            new.write_text(json.dumps(read(_SYSCTL)))
            new.replace(home / _KEPT)


def restore_if_last(home: Path) -> None:
    """Put the machine's values back when no bed with nodes is left in ``home``."""
    if not (home / _KEPT).exists():
        return
    with held(home / ".sysctl.lock"):
        cards = [read_card(path) for path in home.glob("*/bed.json")]
        if not any(card is None or card.nodes for card in cards) and (home / _KEPT).exists():
            write(_SYSCTL, json.loads((home / _KEPT).read_text()))
            (home / _KEPT).unlink()


def read(root: Path) -> dict[str, str]:
    """The values below ``root`` that kubelets write."""
    return {name: (root / name).read_text().strip() for name in _WRITTEN if (root / name).exists()}


def write(root: Path, values: Mapping[str, str]) -> None:
    """Write back the values that differ; other names than a kubelet's are left out."""
    for name, value in values.items():
        if name in _WRITTEN and (root / name).read_text().strip() != value:
            (root / name).write_text(value)
