"""Owns the repositories of these tests, and opening a hub as a user of the local one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from gpustack_models.core.refs import HubKind
from gpustack_models.hub_server import LocalHub
from gpustack_models.hubs.http import HttpOptions
from gpustack_models.hubs.open import open_hub
from gpustack_models.hubs.protocol import Hub
from gpustack_models.hubs.tokens import Token

from .clients import Sleeps

HF, MS = HubKind.HUGGING_FACE, HubKind.MODEL_SCOPE
BRANCH = {HF: "main", MS: "master"}

VERSIONED = """
commits:
  - {name: old, folder: v1, message: First}
  - {name: new, folder: v2, message: Second}
branches: {main: new, dev/x: old}
tags: {light: old, heavy: {commit: old, message: Annotated}}
pull_requests: {3: old}
"""
VERSIONS: dict[str, bytes | str | Path] = {"v1/config.json": "1", "v1/old.bin": b"x" * 2000, "v2/config.json": "2"}

Opened = Callable[[], AbstractContextManager[Hub]]


@contextmanager
def asking(
    hub: LocalHub | str, kind: HubKind, token: str = "", *, sleeps: Sleeps | None = None, **options: float
) -> Iterator[Hub]:
    """A hub with a client that retries without waiting."""
    endpoint = hub if isinstance(hub, str) else hub.url
    given = HttpOptions(**{"read_timeout": 5, "retries": 1, **options})  # type: ignore[arg-type]
    named = Token(token, "the test") if token else None
    with open_hub(kind, endpoint, named, given, pace=(sleeps or Sleeps()).pace()) as opened:
        yield opened
