"""Owns which adapter speaks to which hub.

Refuses to look for endpoints and tokens; they are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpustack_models.core.refs import HubKind
from gpustack_models.hubs.http import HttpClient, HttpOptions, Pace
from gpustack_models.hubs.huggingface import HuggingFace
from gpustack_models.hubs.modelscope import ModelScope
from gpustack_models.hubs.protocol import Hub
from gpustack_models.hubs.tokens import Token

_ADAPTERS: dict[HubKind, type[HuggingFace | ModelScope]] = {
    HubKind.HUGGING_FACE: HuggingFace,
    HubKind.MODEL_SCOPE: ModelScope,
}


def hub_over(http: HttpClient, kind: HubKind, endpoint: str, token: Token | None = None) -> Hub:
    """A hub over a client that others may share; one client is one deadline and one set of connections."""
    return _ADAPTERS[kind](http, endpoint, token)


@contextmanager
def open_hub(
    kind: HubKind,
    endpoint: str,
    token: Token | None = None,
    options: HttpOptions | None = None,
    *,
    pace: Pace | None = None,
    on_wait: Callable[[float, str], None] | None = None,
) -> Iterator[Hub]:
    """A hub over a client of its own, closed at the end. `options.deadline` runs from here."""
    with HttpClient(options, pace, on_wait) as http:
        yield hub_over(http, kind, endpoint, token)
