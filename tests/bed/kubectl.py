"""Owns talking to the API server: kubectl as a process, under one identity.

Refuses to hide an answer: what the API server refuses comes back as ``RefusedError`` with its own words.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BedError

Object = dict[str, Any]
_SECONDS = 60


class RefusedError(BedError):
    """The API server (or kubectl) said no; ``message`` is what it said."""


@dataclass(frozen=True)
class Kubectl:
    """kubectl with a kubeconfig and, if given, a namespace."""

    binary: Path
    kubeconfig: Path
    namespace: str = ""

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Run it; returns stdout. RefusedError carries stderr."""
        argv = [str(self.binary), f"--kubeconfig={self.kubeconfig}"]
        if self.namespace:
            argv.append(f"--namespace={self.namespace}")
        # A cache below HOME would be shared with the person's own clusters.
        argv.append(f"--cache-dir={self.kubeconfig.parent / 'cache'}")
        try:
            done = subprocess.run([*argv, *arguments], input=stdin, text=True, capture_output=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            raise BedError(f"kubectl {arguments[0]} took more than {_SECONDS} s") from None
        if done.returncode:
            raise RefusedError(done.stderr.strip())
        return done.stdout

    def within(self, namespace: str) -> Kubectl:
        """The same identity, in a namespace."""
        return Kubectl(self.binary, self.kubeconfig, namespace)

    def acting_as(self, kubeconfig: Path) -> Kubectl:
        """Another identity, in the same namespace."""
        return Kubectl(self.binary, kubeconfig, self.namespace)

    def get(self, *what: str) -> Object:
        """An object (``get("pod", "x")``) or a List (``get("pods")``); RefusedError when there is none of that name."""
        found: Object = json.loads(self("get", *what, "-o", "json"))
        return found

    def apply(self, *objects: Mapping[str, Any]) -> None:
        """Apply objects on the server's side, as one field manager."""
        self("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=documents(objects))

    def create(self, *objects: Mapping[str, Any]) -> None:
        """Create objects; RefusedError when one exists or is refused."""
        self("create", "-f", "-", stdin=documents(objects))

    def delete(self, *what: str) -> None:
        """Delete and wait until it is gone; nothing there is fine."""
        self("delete", *what, "--ignore-not-found", "--timeout=50s")

    def may(self, verb: str, resource: str) -> bool:
        """Whether the identity may do that (``kubectl auth can-i``)."""
        try:
            return self("auth", "can-i", verb, resource).strip() == "yes"
        except RefusedError:
            return False

    def exists(self, *what: str) -> bool:
        """Whether an object of that name is there."""
        return bool(self("get", *what, "--ignore-not-found", "-o", "name").strip())


def documents(objects: Sequence[Mapping[str, Any]]) -> str:
    """Objects as a stream of JSON. Not a List: kubectl would judge its items itself, by a copy of the schema."""
    return "\n".join(json.dumps(one) for one in objects)
