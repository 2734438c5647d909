"""Owns asking a server of the bed whether it is ready.

Refuses to trust another authority than the bed's, and proxies.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path


def healthy(url: str, kubeconfig: Path) -> bool:
    """Whether ``url`` answers 200 to the token of a kubeconfig (one that ``kubeconfig`` wrote)."""
    config = json.loads(kubeconfig.read_text())
    context = ssl.create_default_context(cafile=config["clusters"][0]["cluster"]["certificate-authority"])
    handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    token = config["users"][0]["user"]["token"]
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
