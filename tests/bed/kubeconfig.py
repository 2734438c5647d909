"""Owns kubeconfig files: one per identity, readable by their owner alone.

Refuses embedded certificates of clients: files are named, so that a rotated one is picked up.
"""

from __future__ import annotations

import json
from pathlib import Path

from .pki import Pair, write_private


def write_kubeconfig(
    path: Path, server: str, authority: Path, user: dict[str, str], namespace: str = "default"
) -> Path:
    """Write a kubeconfig (JSON is YAML); ``user`` holds the credential, see ``token`` and ``certificate``."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bed", "cluster": {"server": server, "certificate-authority": str(authority)}}],
        "users": [{"name": path.stem, "user": user}],
        "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": path.stem, "namespace": namespace}}],
        "current-context": "bed",
    }
    write_private(path, json.dumps(config, indent=1).encode())
    return path


def token(value: str) -> dict[str, str]:
    """A user with a bearer token."""
    return {"token": value}


def certificate(pair: Pair) -> dict[str, str]:
    """A user with a client certificate."""
    return {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
