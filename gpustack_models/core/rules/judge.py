"""Owns the judgement of one object: its schema, then every row of the table, on an update against what it was.

Refuses to stop at the first refusal: a person gets all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpustack_models.core import paths, schema, structure
from gpustack_models.core.resource import JsonObject, Resource
from gpustack_models.core.rules import table
from gpustack_models.core.rules.model import Case, Cel, Facts, Operation, Requester, Row, Violation

_NOTHING = Facts()


@dataclass(frozen=True, slots=True)
class Request:
    """What is done to an object, and by whom; nobody on a laptop."""

    operation: Operation = Operation.CREATE
    subresource: str = ""
    requester: Requester | None = None


_CREATE = Request()


def judge(
    resource: type[Resource],
    value: JsonObject,
    old: JsonObject | None = None,
    *,
    request: Request = _CREATE,
    facts: Facts = _NOTHING,
) -> tuple[Violation, ...]:
    """Every refusal of an object, in the order of the table. `old` is what it was, on an update.

    What an update leaves as it was is not judged again: an object that was stored before a rule existed still takes
    other edits (workloads.md "Where a rule is enforced"; the API server does the same with its own).
    """
    new = structure.prepared(resource, value)
    before = structure.prepared(resource, old) if old is not None else None
    if request.operation is Operation.DELETE:
        shape: tuple[Violation, ...] = ()
    else:
        shape = tuple(structure.check(resource, new))
    case = Case(resource, new, before, request.operation, request.subresource, request.requester, facts)
    broken = tuple(violation.path for violation in shape if violation.blocking)
    rows = (row for row in table.judged(resource) if _applies(row, request))
    return (*_changed(resource, new, before, shape), *(each for row in rows for each in _of_row(row, case, broken)))


def _changed(
    resource: type[Resource], new: JsonObject, old: JsonObject | None, shape: tuple[Violation, ...]
) -> tuple[Violation, ...]:
    keys = schema.list_keys(resource)
    return tuple(each for each in shape if old is None or not _same(new, old, _scope(each), keys))


def _scope(violation: Violation) -> paths.Path:
    return violation.path if violation.scope is None else violation.scope


def _applies(row: Row, request: Request) -> bool:
    return request.operation in row.operations and row.subresource == request.subresource


def _of_row(row: Row, case: Case[Resource], broken: tuple[paths.Path, ...]) -> Iterator[Violation]:
    # What is of a wrong type, or lacks a member, is not looked into; the rest still is.
    keys = schema.list_keys(case.kind)
    for cel in row.cel:
        yield from _of_cel(row, cel, case, broken)
    # Who may write a status is asked of a broken object too: what was stored broken is let pass as it is.
    if row.check is None or (broken and not row.subresource):
        return
    for problem in row.check(case):
        scope = problem.path[: len(row.scope)] if row.scope else None
        if case.old_value is None or scope is None or not _same(case.value, case.old_value, scope, keys):
            yield Violation(problem.rule or row.id, problem.path, problem.message, problem.hint)


def _of_cel(row: Row, cel: Cel, case: Case[Resource], broken: tuple[paths.Path, ...]) -> Iterator[Violation]:
    keys = schema.list_keys(case.kind)
    for path, value in paths.each(case.value, cel.at):
        if any(each[: len(path)] == path[: len(each)] for each in broken):
            continue
        old = paths.correlated(case.value, case.old_value, path, keys) if case.old_value is not None else None
        if cel.transition:
            holds = old is None or cel.holds(value, old)
        else:
            holds = (old is not None and old == value) or cel.holds(value)
        if not holds:
            where = cel.locate(value) if cel.locate else cel.member
            yield Violation(row.id, (*path, *where), cel.message)


def _same(new: JsonObject, old: JsonObject, path: paths.Path, keys: paths.Keys) -> bool:
    before = paths.correlated(new, old, path, keys)
    return before is not None and bool(before == paths.get(new, path))
