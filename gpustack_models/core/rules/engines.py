"""Owns the rows of the engines' tables as admission rules: owned flags and variables, the served name, the address.

Refuses to read a command line; `core.engines` does.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpustack_models.core import paths
from gpustack_models.core.deployment import ModelDeployment, Role
from gpustack_models.core.engines.catalogue import ENGINES
from gpustack_models.core.engines.check import Context, RoleLine, violations
from gpustack_models.core.engines.expansion import Variable
from gpustack_models.core.engines.model import ARTIFACT, Engine
from gpustack_models.core.rules.cel import path
from gpustack_models.core.rules.model import Case, Problem, Row, Where

KIND = "ModelDeployment"
_SPEC = "engines.md"
_ARGUMENTS, _ENV = "spec.roles[].extraArgs", "spec.roles[].env"
_ADDED = " This project's addition."


def role_line(index: int, role: Role) -> RoleLine:
    """A role as the engines' check reads it."""
    variables = tuple(Variable.of(each.to_object()) for each in role.env)
    return RoleLine(f"spec.roles[{index}]", role.port, role.extra_args, variables)


def _check(case: Case[ModelDeployment]) -> Iterator[Problem]:
    spec = case.new.spec
    context = Context(spec.model.name, spec.model.artifact_ref is not None, spec.kv_cache is not None)
    engine = ENGINES[spec.engine.name]
    for index, role in enumerate(spec.roles):
        if role.managed:
            for found in violations(engine, role_line(index, role), context):
                yield Problem(paths.parse(found.field), found.message, rule=found.rule)


def _rows(engine: Engine) -> Iterator[Row]:
    for flag in engine.flags:
        name = flag.spellings[0] + ("…" if flag.spellings[0].endswith("-") else "")
        also = f" (`{'`, `'.join(flag.spellings[1:])}`)" if flag.spellings[1:] else ""
        values = f" with `{'`, `'.join(sorted(flag.values))}`" if flag.values else ""
        added = "" if flag.by_specification else _ADDED
        says = f"{engine.name}: `{name}`{also}{values} is owned by `{flag.owner}`: {flag.why}.{added}"
        yield _row(flag.id, _ARGUMENTS, says)
    for variable in engine.variables:
        added = "" if variable.by_specification else _ADDED
        yield _row(variable.id, _ENV, f"`{variable.name}` is owned by `{ARTIFACT}`: {variable.why}.{added}")
    yield _row(
        f"{engine.id}-served-model-name",
        _ARGUMENTS,
        f"{engine.name}: `--served-model-name`, where a role states it, is exactly `spec.model.name`.",
    )
    yield _row(
        f"{engine.id}-unreadable-argument",
        _ARGUMENTS,
        f"{engine.name}: no argument whose flag is filled in on the node.{_ADDED}",
    )
    for option in ("port", "host"):
        yield _row(
            f"{engine.id}-{option}",
            _ARGUMENTS,
            f"{engine.name}: `--{option}`, where a role states it, agrees with the role's `port` on every address.",
        )


def _row(identifier: str, looks_at: str, says: str) -> Row:
    return Row(identifier, KIND, looks_at, says, Where.WEBHOOK, _SPEC, scope=path("spec.roles.[].extraArgs"))


#: One check serves every row: a role's line is read once.
CHECK = Row(
    "engine-line",
    KIND,
    f"{_ARGUMENTS}, {_ENV}",
    "A managed role's arguments and environment keep to its engine's tables.",
    Where.WEBHOOK,
    _SPEC,
    check=_check,
    scope=path("spec.roles.[].extraArgs"),
)
ROWS: tuple[Row, ...] = tuple({row.id: row for engine in ENGINES.values() for row in _rows(engine)}.values())
