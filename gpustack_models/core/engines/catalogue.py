"""Owns the list of engines: the one place that knows them all.

Refuses an engine it does not know, by naming those it does.
"""

from __future__ import annotations

from gpustack_models.core.engines.model import Engine
from gpustack_models.core.engines.sglang import SGLANG
from gpustack_models.core.engines.vllm import VLLM
from gpustack_models.errors import GsmError, Reason

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (VLLM, SGLANG)}


def engine(name: str) -> Engine:
    """The table of an engine by `spec.engine.name`. Raises GsmError(InvalidInput) naming the known ones."""
    if name not in ENGINES:
        raise GsmError(Reason.INVALID_INPUT, f"engine {name!r} is not known", hint=f"use {' or '.join(ENGINES)}")
    return ENGINES[name]
