"""Owns what is printed when a test fails: what the bed's programs said meanwhile, and what is in the test's namespace.

Refuses Secrets' contents, and to fail itself: what cannot be read says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from .bed import Bed
from .errors import BedError
from .kubectl import Kubectl

_LINES = 40
_CHARACTERS = 30_000
_LEFT_OUT = frozenset({"secrets", "events", "events.events.k8s.io"})
_EVERYWHERE = frozenset({"kube-root-ca.crt", "default"})  # made in each namespace by the controllers

Section = tuple[str, str]


def sizes(bed: Bed) -> dict[str, int]:
    """How long each log is now; what comes after belongs to the test that begins."""
    return {path.name: path.stat().st_size for path in logs(bed)}


def logs(bed: Bed) -> list[Path]:
    """The logs of the bed's programs and guests, and those of its Pods."""
    pods = [path for node in bed.nodes for path in node.layout.logs.glob("*/*/*.log")]
    return sorted(bed.layout.log.glob("*.log")) + sorted(pods)


def sections(bed: Bed, since: Mapping[str, int], namespace: Kubectl | None) -> Iterator[Section]:
    """All that helps: logs since the test began, and the namespace's events and objects."""
    for path in bed.layout.log.glob("*.log"):
        yield from _log(path, path.stem, since.get(path.name, 0))
    if namespace is None:
        return
    for node in bed.nodes:
        for path in node.layout.logs.glob(f"{namespace.namespace}_*/*/*.log"):
            yield from _log(path, f"{path.parts[-3]} {path.parts[-2]} on {node.name}", 0)
    yield f"events of {namespace.namespace}", _told(lambda: namespace("get", "events", "--sort-by=.lastTimestamp"))
    yield f"objects of {namespace.namespace}", _told(lambda: _objects(namespace))


def last_lines(text: str, lines: int = _LINES) -> str:
    """The end of a log, saying how much was left out."""
    rows = text.splitlines()
    left_out = len(rows) - lines
    return "\n".join(([f"({left_out} lines before)"] if left_out > 0 else []) + rows[-lines:])


def _log(path: Path, name: str, start: int) -> Iterator[Section]:
    with path.open("rb") as handle:
        handle.seek(start)
        text = handle.read().decode(errors="replace")
    if text.strip():
        yield f"log of {name}", last_lines(text)


def _objects(namespace: Kubectl) -> str:
    kinds = namespace("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    read = ",".join(kind for kind in kinds if kind not in _LEFT_OUT)
    found = namespace.get(read, "--ignore-not-found", "--show-managed-fields=false")["items"]
    shown = [json.dumps(item, indent=1) for item in found if item["metadata"]["name"] not in _EVERYWHERE]
    secrets = ", ".join(item["metadata"]["name"] for item in namespace.get("secrets")["items"]) or "none"
    text = "\n".join(shown)
    return f"{text[:_CHARACTERS]}\nSecrets (names only): {secrets}"


def _told(read: Callable[[], str]) -> str:
    try:
        return read()
    except BedError as error:
        return f"could not be read: {error}"
