"""Owns the judgement of many documents together: each by its rules, with what the others say of the cluster.

Refuses I/O: the caller reads files and prints what is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpustack_models.core import documents, paths
from gpustack_models.core.documents import Document
from gpustack_models.core.nodestore import DRIVER
from gpustack_models.core.resource import DEFAULT_NAMESPACE, Resource
from gpustack_models.core.rules.judge import Request, judge
from gpustack_models.core.rules.model import Facts, Operation, Violation
from gpustack_models.core.screening import screen
from gpustack_models.core.setting import Setting
from gpustack_models.core.yamlbuilder import DocumentError, Position

#: A file: what to call it, and its bytes.
Content = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Finding:
    """One refusal: where it stands, what it is about, the rule, the words and the next step."""

    file: str
    line: int
    column: int
    object: str
    field: str
    rule: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What was judged: objects of ours, documents left to others, and every refusal by file and line."""

    objects: int
    others: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class _Screened:
    document: Document
    resource: type[Resource] | None
    violation: Violation | None


def validate(files: Iterable[Content], facts: Facts, stored: Iterable[Content] = ()) -> Report:
    """Judge the documents of files together. What they say of the cluster is added to `facts`.

    An object that is among `stored` too is judged as an update of it. A stored file that cannot be read is a finding.
    """
    before, findings = _screened(stored)
    screened, unread = _screened(files)
    findings += unread
    old = {_identity(each.document.value): each.document.value for each in before if each.resource is not None}
    seen: dict[tuple[str, ...], Document] = {}
    settings = _settings(screened)
    facts = _with_documents(facts, screened)
    for each in screened:
        known = replace(facts, settings={**facts.settings, **settings.get(_namespace(each.document.value), {})})
        violations = [each.violation] if each.violation else []
        if each.resource is not None:
            violations += [*_judged(each.resource, each.document.value, old, known), *_twice(each, seen)]
        findings += (_of(each.document, violation) for violation in violations)
    findings.sort(key=lambda finding: (finding.file, finding.line, finding.column))
    ours = sum(each.resource is not None for each in screened)
    others = sum(each.resource is None and each.violation is None for each in screened)
    return Report(ours, others, tuple(findings))


def describe(value: Any) -> str:
    """What a refusal calls an object: its kind, namespace and name, as far as they are written."""
    if not isinstance(value, dict):
        return ""
    metadata = value.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    name = "/".join(str(named[part]) for part in ("namespace", "name") if named.get(part))
    parts = (str(value.get("kind") or ""), name or str(named.get("generateName") or ""))
    return " ".join(f"{part:.253}" for part in parts if part)


def _screened(files: Iterable[Content]) -> tuple[list[_Screened], list[Finding]]:
    screened: list[_Screened] = []
    findings: list[Finding] = []
    for name, data in files:
        try:
            for document in documents.read(data, name):
                screened.append(_Screened(document, *screen(document.value)))
        except DocumentError as error:
            findings.append(_of_error(name, error))
    return screened, findings


def _judged(
    resource: type[Resource], value: Any, old: Mapping[tuple[str, ...], Any], facts: Facts
) -> tuple[Violation, ...]:
    before = old.get(_identity(value))
    if before is None:
        return judge(resource, value, facts=facts)
    return judge(resource, value, before, request=Request(Operation.UPDATE), facts=facts)


def _identity(value: Any) -> tuple[str, ...]:
    name = paths.get(value, ("metadata", "name"))
    return (str(value["kind"]), _namespace(value), name if isinstance(name, str) else "")


def _of(document: Document, violation: Violation) -> Finding:
    place = document.position(violation.path)
    return Finding(
        document.file,
        place.line,
        place.column,
        describe(document.value),
        paths.text(violation.path),
        violation.rule,
        violation.message,
        violation.hint,
    )


def _of_error(name: str, error: DocumentError) -> Finding:
    place: Position = error.position
    return Finding(name, place.line, place.column, "", "", error.rule, error.message, error.hint)


def _namespace(value: Any) -> str:
    # An object without one is in the default namespace, as for gsm render.
    namespace = paths.get(value, ("metadata", "namespace"))
    return namespace if isinstance(namespace, str) and namespace else DEFAULT_NAMESPACE


def _settings(screened: Sequence[_Screened]) -> dict[str, dict[str, str]]:
    """The Settings given, by namespace and name."""
    given: dict[str, dict[str, str]] = {}
    for each in screened:
        if each.resource is Setting:
            value = each.document.value
            name, text = paths.get(value, ("metadata", "name")), paths.get(value, ("spec", "value"))
            if isinstance(name, str) and isinstance(text, str):
                given.setdefault(_namespace(value), {})[name] = text
    return given


def _with_documents(facts: Facts, screened: Sequence[_Screened]) -> Facts:
    drivers = (
        paths.get(each.document.value, ("metadata", "name"))
        for each in screened
        if each.resource is None and each.violation is None and each.document.value["kind"] == "CSIDriver"
    )
    return replace(facts, csi_driver=True) if DRIVER in drivers else facts


def _twice(each: _Screened, seen: dict[tuple[str, ...], Document]) -> Iterator[Violation]:
    value = each.document.value
    identity = _identity(value)
    if not identity[-1]:
        return
    first = seen.setdefault(identity, each.document)
    if first is not each.document:
        place = first.position(("metadata", "name"))
        yield Violation(
            "document-duplicate-object", ("metadata", "name"), f"is given before, in {first.file} on line {place.line}"
        )
