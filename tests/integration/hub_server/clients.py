"""Owns running the hubs' own clients against a local hub: unmodified, as processes, each with its own environment.

Refuses to configure anything that a person could not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx

from gpustack_models.hub_server import LocalHub

#: A client without manners of its own: no proxy, no redirects, and made once, since making one costs more than asking.
HTTP = httpx.Client(trust_env=False)

BIN = Path(sys.executable).parent
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE")


def environment(hub: LocalHub, home: Path, token: str = "") -> dict[str, str]:
    """What a person would set: both endpoints, caches of this test's own, and a token or none."""
    known = {name: os.environ[name] for name in _KEPT if name in os.environ}
    known |= {"HF_ENDPOINT": hub.url, "HF_HOME": str(home / "hf"), "HF_HUB_DISABLE_TELEMETRY": "1", "NO_COLOR": "1"}
    known |= {"MODELSCOPE_ENDPOINT": hub.url, "MODELSCOPE_CACHE": str(home / "ms"), "HOME": str(home)}
    if token:
        known |= {"HF_TOKEN": token, "MODELSCOPE_API_TOKEN": token}
    return known


def run(environment: dict[str, str], program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of the programs that the clients' packages install."""
    command = [str(BIN / program), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
