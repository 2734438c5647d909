"""Owns the local hub beside a bed, and each node's own way to it.

Refuses the hub's insides: it is run as its users run it, ``gsm hub serve DIR``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .launch import Command

NAME = "hub"
_RELAY = Path(__file__).with_name("relay.py")


def serve(folder: Path, port: int, flags: Sequence[str], env: Mapping[str, str]) -> Command:
    """The hub over a folder of repositories."""
    # Redirects would lead past the relays: what a node is cut off from would still reach it.
    options = ["--port", str(port), "--no-redirect", *flags]
    return Command(NAME, [sys.executable, "-m", "gpustack_models", "hub", "serve", str(folder), *options], env)


def relay(node: str, addresses: Sequence[str], listen: int, target: int, env: Mapping[str, str]) -> Command:
    """A node's own way to the hub: what is between it and the hub can be stopped or frozen alone."""
    argv = [sys.executable, "-I", str(_RELAY), str(target), *(f"{address}:{listen}" for address in addresses)]
    return Command(link(node), argv, env)


def seed(folder: Path) -> None:
    """A first repository, for a person to try things on."""
    repository = folder / "demo" / "tiny"
    if repository.exists():
        return
    repository.mkdir(parents=True)
    (repository / "config.json").write_text('{"architectures": ["Tiny"], "hidden_size": 8}\n')
    (repository / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}" + bytes(1 << 20))


def link(node: str) -> str:
    """The name of a node's relay among the bed's processes."""
    return f"link-{node}"


def environment(url: str) -> dict[str, str]:
    """What points the hubs' own clients at a hub."""
    return {"HF_ENDPOINT": url, "MODELSCOPE_ENDPOINT": url}
