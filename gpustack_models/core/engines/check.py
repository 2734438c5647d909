"""Owns the judgement of one managed role's arguments and environment by its engine's table.

Refuses nothing itself: it returns violations, and never a value of an argument (it may be a token).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gpustack_models.core.engines.expansion import POD_ADDRESS, UNKNOWN, Variable, expand, known
from gpustack_models.core.engines.flags import Option, Reading, cut, reaches, read, tokens
from gpustack_models.core.engines.model import (
    ARTIFACT,
    EVERY_ADDRESS,
    HOST,
    KV_CACHE,
    MODEL_NAME,
    PORT,
    SERVED_MODEL_NAME,
    Engine,
    OwnedFlag,
)

_ADDRESSES = {EVERY_ADDRESS, "::", POD_ADDRESS}


@dataclass(frozen=True, slots=True)
class RoleLine:
    """What a managed role adds to the operator's line. `path` is its field, such as `spec.roles[0]`."""

    path: str
    port: int
    arguments: tuple[str, ...] = ()
    variables: tuple[Variable, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What the deployment sets: the served name, whether it names an artifact, whether it has a KV cache."""

    model_name: str
    artifact: bool = False
    kv_cache: bool = False

    def has(self, owner: str) -> bool:
        """Whether the field that owns a row is set."""
        return {ARTIFACT: self.artifact, KV_CACHE: self.kv_cache}[owner]


@dataclass(frozen=True, slots=True)
class Violation:
    """One refusal: the row's id, the field, the flag or variable as written, and the sentence for a person."""

    rule: str
    field: str
    token: str
    message: str


@dataclass(frozen=True, slots=True)
class Line:
    """A role's arguments, expanded as kubelet would, and read as the engine's parser would."""

    engine: Engine
    role: RoleLine
    expanded: tuple[str, ...]
    reading: Reading

    def field(self, index: int) -> str:
        """The field of one argument."""
        return f"{self.role.path}.extraArgs[{index}]"

    def written(self, index: int) -> str:
        """The flag as the role has it, without a joined value."""
        return self.role.arguments[index].partition("=")[0]

    def stated(self, option: str) -> tuple[Option, ...]:
        """Where the role states an option, in any spelling that its parser takes."""
        return tuple(found for found in self.reading.options if reaches(found.name, option, self.engine.syntax))


def line(engine: Engine, role: RoleLine) -> Line:
    """Expand and read a role's arguments once."""
    values = known(role.variables)
    expanded = tuple(expand(argument, values) for argument in role.arguments)
    return Line(engine, role, expanded, read(expanded, engine.syntax))


def violations(engine: Engine, role: RoleLine, context: Context) -> tuple[Violation, ...]:
    """Every rule of engines.md that a managed role breaks, by field; one at most for each argument and rule."""
    read_line = line(engine, role)
    found = (
        *_owned_flags(read_line, context),
        *_unreadable(read_line, context),
        *_served_name(read_line, context),
        *_address(read_line),
        *_owned_variables(engine, role, context),
    )
    return tuple(dict.fromkeys(found))


def name_problem(engine: Engine, name: str) -> str:
    """Why an engine cannot serve under a name, or an empty string (engines.md, "Values")."""
    return next((why for character, why in engine.forbidden_in_name.items() if character in name), "")


def states(engine: Engine, arguments: Sequence[str], variables: Sequence[Variable], option: str) -> bool:
    """Whether a role's arguments state an option, so that the operator leaves its own out."""
    return bool(line(engine, RoleLine("", 0, tuple(arguments), tuple(variables))).stated(option))


def _owned_flags(read_line: Line, context: Context) -> Iterator[Violation]:
    engine, expanded = read_line.engine, read_line.expanded
    rows = [row for row in engine.flags if context.has(row.owner)]
    # Every argument is judged, also one that this reading takes for a value: another version may read it as an option.
    texts = [*enumerate(expanded), *((token.index, token.text) for token in tokens(expanded, engine.syntax))]
    for index, text in texts:
        if row := _row(engine, [row for row in rows if not row.values], cut(text, engine.syntax)):
            yield _owned_flag(read_line, row, index)
    for option in read_line.reading.options:
        for row in rows:
            if row.values and _row(engine, [row], option.name) and any(map(_refused_value(row), option.values)):
                yield _owned_flag(read_line, row, option.index)


def _row(engine: Engine, rows: Sequence[OwnedFlag], name: str) -> OwnedFlag | None:
    matching = [row for row in rows if any(reaches(name, spelling, engine.syntax) for spelling in row.spellings)]
    return next((row for row in matching if name in row.spellings), matching[0] if matching else None)


def _refused_value(row: OwnedFlag) -> Callable[[str], bool]:
    return lambda value: UNKNOWN in value or value.strip().lower() in row.values


def _owned_flag(read_line: Line, row: OwnedFlag, index: int) -> Violation:
    written, option = read_line.written(index), row.spellings[0]
    full = option + "…" if option.endswith("-") else option
    reads = "" if written == option else f", which {read_line.engine.name} may read as {full},"
    values = f" with {', '.join(sorted(row.values))}" if row.values else ""
    source = "" if row.by_specification else " (this project's addition)"
    return Violation(
        row.id,
        read_line.field(index),
        written,
        f"{written}{reads}{values} is owned by {row.owner}: {row.why}{source}; remove it",
    )


def _unreadable(read_line: Line, context: Context) -> Iterator[Violation]:
    if not context.artifact:
        return
    for index, text in enumerate(read_line.expanded):
        head = text.partition("=")[0]
        if text.startswith(UNKNOWN) or (text.startswith("-") and UNKNOWN in head):
            written = read_line.written(index)
            yield Violation(
                f"{read_line.engine.id}-unreadable-argument",
                read_line.field(index),
                written,
                f"{written} is filled in on the node and could become a flag that {ARTIFACT} owns (this project's "
                "addition); write the flag and its value as one argument: --flag=$(NAME)",
            )


def _served_name(read_line: Line, context: Context) -> Iterator[Violation]:
    engine, wanted = read_line.engine, context.model_name
    rule = f"{engine.id}-served-model-name"
    why = f"the router knows the model as {MODEL_NAME} ({wanted!r}) only"
    for option in read_line.stated(SERVED_MODEL_NAME):
        exact = option.values[:1] == (wanted,) and (len(option.values) == 1 or not engine.many_names)
        if not exact:
            written = read_line.written(option.index)
            yield Violation(
                rule,
                read_line.field(option.index),
                written,
                f"{written} must be exactly {wanted!r}, and nothing beside it: {why}; remove it or write {wanted}",
            )
    if engine.many_names and read_line.reading.loose:
        index = read_line.reading.loose[0].index
        yield Violation(
            rule,
            read_line.field(index),
            "",
            f"a value that belongs to no flag is taken as another {SERVED_MODEL_NAME}: {why}; put its flag before it",
        )


def _address(read_line: Line) -> Iterator[Violation]:
    port = read_line.role.port
    for option in read_line.stated(PORT):
        if not option.values or not _is_port(option.values[0], port):
            yield _disagrees(read_line, PORT, option, f"--port {port}")
    for option in read_line.stated(HOST):
        if not option.values or option.values[0] not in _ADDRESSES:
            yield _disagrees(read_line, HOST, option, f"--host {EVERY_ADDRESS}")


def _is_port(value: str, port: int) -> bool:
    return value.lstrip("0") == str(port)


def _disagrees(read_line: Line, option: str, found: Option, right: str) -> Violation:
    written = read_line.written(found.index)
    return Violation(
        f"{read_line.engine.id}{option[1:]}",
        read_line.field(found.index),
        written,
        f"{written} must agree with {read_line.role.path}.port ({read_line.role.port}) on every address of the Pod, or "
        f"probes and the Service miss the engine; remove it or write {right}",
    )


def _owned_variables(engine: Engine, role: RoleLine, context: Context) -> Iterator[Violation]:
    if not context.artifact:
        return
    rows = {row.name: row for row in engine.variables}
    for index, variable in enumerate(role.variables):
        if row := rows.get(variable.name):
            source = "" if row.by_specification else " (this project's addition)"
            yield Violation(
                row.id,
                f"{role.path}.env[{index}].name",
                row.name,
                f"{row.name} is owned by {ARTIFACT}: {row.why}{source}; remove it",
            )
