"""Owns a managed role's argument line: the operator's own options, then the role's.

Refuses nothing: what a role may state is judged in `check`.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpustack_models.core.engines.check import states
from gpustack_models.core.engines.expansion import Variable, literal
from gpustack_models.core.engines.model import EVERY_ADDRESS, HOST, PORT, SERVED_MODEL_NAME, Engine, KvCache


@dataclass(frozen=True, slots=True)
class Weights:
    """What the engine is told to load: a path, a repository or a name, and the commit that pins it (or "")."""

    model: str
    commit: str = ""


@dataclass(frozen=True, slots=True)
class EngineLine:
    """What a managed role's line is made from. `extra` and `variables` are the role's own."""

    model_name: str
    port: int
    weights: Weights
    kv_cache: KvCache | None
    extra: tuple[str, ...]
    variables: tuple[Variable, ...] = ()


def arguments(engine: Engine, line: EngineLine) -> tuple[str, ...]:
    """The container's `args` beside the engine's `command` (workloads.md, "The engine's line").

    `--host`, `--port` and `--served-model-name` are left out when the role states them, in any spelling.
    """
    own = [(HOST, EVERY_ADDRESS), (PORT, str(line.port)), (SERVED_MODEL_NAME, literal(line.model_name))]
    rendered = [*engine.model_option, literal(line.weights.model)]
    if line.weights.commit:
        rendered += ["--revision", line.weights.commit]
    for option, value in own:
        if not states(engine, line.extra, line.variables, option):
            rendered += [option, value]
    if line.kv_cache is not None:
        rendered += engine.kv_arguments(line.kv_cache)
    return (*rendered, *line.extra)
