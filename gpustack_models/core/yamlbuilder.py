"""Owns the building of one YAML document from a parser's events, each value with its place in the text.

Refuses duplicate keys, deep nesting, bombs of aliases and tags of other types, without recursion.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from gpustack_models.core import scalars
from gpustack_models.core.paths import Step

MAX_DEPTH = 64
#: Values of one document, aliases counted as often as they are used. etcd takes objects of 1.5 MiB.
MAX_VALUES = 200_000

_MERGE = "<<"


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text, as editors count: from 1."""

    line: int = 1
    column: int = 1


@dataclass(slots=True)
class Mark:
    """Where a value begins, and where its parts do (`keys`: where a map's keys stand).

    `size` counts the values in it, `depth` the levels of lists and maps, aliases followed.
    """

    position: Position
    parts: dict[Step, Mark] = field(default_factory=dict)
    keys: dict[Step, Position] = field(default_factory=dict)
    size: int = 1
    depth: int = 0


class DocumentError(Exception):
    """A text that is not YAML as Kubernetes reads it: `rule` names the row, `position` the place."""

    def __init__(self, rule: str, message: str, position: Position, hint: str = "") -> None:
        super().__init__(message)
        self.rule, self.message, self.position, self.hint = rule, message, position, hint


@dataclass(slots=True)
class _Open:
    """A collection whose end is still to come."""

    value: Any
    mark: Mark
    anchor: str | None
    key: Step | None = None
    merged: list[tuple[dict[str, Any], Mark]] = field(default_factory=list)


class Builder:
    """Builds one document from parser events, without recursion."""

    def __init__(self) -> None:
        self.root: tuple[Any, Mark] | None = None
        self.stack: list[_Open] = []
        self.anchors: dict[str, tuple[Any, Mark] | None] = {}

    def take(self, event: yaml.Event) -> None:
        """Take the next event of the document. Raises DocumentError."""
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            self._open({}, event)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._open([], event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        place = _place(event)
        if self._expects_key():
            self._key(event, place)
            return
        value = _resolved(event, place)
        self._add(value, Mark(place), event.anchor)

    def _key(self, event: yaml.ScalarEvent, place: Position) -> None:
        frame = self.stack[-1]
        key = _text_of_key(event, place)
        if event.anchor:
            self.anchors[event.anchor] = (key, Mark(place))
        if key in frame.value:
            first = frame.mark.keys[key].line
            raise DocumentError(
                "document-duplicate-key",
                f"{key!r:.100} stands twice in one map, first on line {first}; one of the two would be lost",
                place,
            )
        frame.key = key
        frame.mark.keys[key] = place

    def _open(self, value: Any, event: yaml.CollectionStartEvent) -> None:
        place = _place(event)
        if self._expects_key():
            raise DocumentError("document-yaml", "a key of a map is a text, not a list or a map", place)
        if len(self.stack) >= MAX_DEPTH:
            raise _too_deep(place)
        if event.tag and event.tag.removeprefix("tag:yaml.org,2002:") not in ("map", "seq", "!"):
            raise DocumentError("document-yaml", f"the tag {event.tag} has no meaning in a Kubernetes object", place)
        if event.anchor:
            self.anchors[event.anchor] = None
        self.stack.append(_Open(value, Mark(place), event.anchor))

    def _close(self) -> None:
        frame = self.stack.pop()
        for value, mark in frame.merged:
            for key in value.keys() - frame.value.keys():
                frame.value[key] = value[key]
                frame.mark.keys[key] = mark.keys[key]
                frame.mark.parts[key] = mark.parts[key]
        self._add(frame.value, frame.mark, frame.anchor)

    def _alias(self, event: yaml.AliasEvent) -> None:
        place = _place(event)
        if event.anchor not in self.anchors:
            raise DocumentError("document-yaml", f"*{event.anchor} refers to no anchor above it", place)
        known = self.anchors[event.anchor]
        if known is None:
            raise DocumentError("document-alias", f"*{event.anchor} refers to what it is a part of", place)
        value, mark = known
        if self._expects_key():
            raise DocumentError("document-alias", "an alias as a key of a map is not read", place)
        if len(self.stack) + mark.depth > MAX_DEPTH:
            raise _too_deep(place)
        self._add(value, mark, None)

    def _add(self, value: Any, mark: Mark, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = (value, mark)
        if not self.stack:
            self.root = (value, mark)
            return
        frame = self.stack[-1]
        frame.mark.size += mark.size
        frame.mark.depth = max(frame.mark.depth, mark.depth + 1)
        if frame.mark.size > MAX_VALUES:
            raise DocumentError(
                "document-too-large",
                f"more than {MAX_VALUES} values in one document, aliases counted as often as they are used",
                mark.position,
            )
        if isinstance(frame.value, list):
            frame.mark.parts[len(frame.value)] = mark
            frame.value.append(value)
            return
        key = frame.key
        assert isinstance(key, str)  # noqa: S101 - a map's values follow its keys
        frame.key = None
        if key == _MERGE and self._merges(value, mark, frame):
            return
        frame.value[key] = value
        frame.mark.parts[key] = mark

    def _merges(self, value: Any, mark: Mark, frame: _Open) -> bool:
        pairs = [(value, mark)] if isinstance(value, dict) else []
        if isinstance(value, list):
            pairs = [(each, mark.parts[index]) for index, each in enumerate(value) if isinstance(each, dict)]
        frame.merged += pairs
        return bool(pairs)

    def _expects_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None


def _place(event: yaml.Event) -> Position:
    mark = event.start_mark
    return Position(mark.line + 1, mark.column + 1) if mark else Position()


def _too_deep(place: Position) -> DocumentError:
    return DocumentError("document-too-deep", f"nested more than {MAX_DEPTH} levels deep", place)


def _text_of_key(event: yaml.ScalarEvent, place: Position) -> str:
    # kubectl resolves a key as it does a value, and writes it back: `on` is the key "true", `010` the key "8".
    value = _resolved(event, place)
    if value is None:
        raise DocumentError("document-yaml", "a key of a map is a text, not nothing", place, "quote it")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _resolved(event: yaml.ScalarEvent, place: Position) -> scalars.Scalar:
    try:
        return scalars.resolve(event.value, plain=event.implicit[0], tag=event.tag)
    except ValueError as error:
        raise DocumentError("document-yaml", str(error), place) from error
