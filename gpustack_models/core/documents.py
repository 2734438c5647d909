"""Owns text to documents: YAML (and JSON) into values, each remembering the line and column of every part.

Refuses what could hurt or mislead: bombs of aliases, deep nesting, duplicate keys, huge or binary text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from gpustack_models.core.paths import Path
from gpustack_models.core.yamlbuilder import Builder, DocumentError, Mark, Position

MAX_BYTES = 32 * 1024 * 1024

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
#: A character outside the first plane, as JSON escapes it and YAML does not; an escaped backslash is none's beginning.
_PAIR = re.compile(r"((?<!\\)(?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})")
#: What a parser's message most often means.
_HINTS = {
    "mapping values are not allowed": "quote a text that holds ': ', and look for a wrong indentation",
    "character that cannot start any token": "quote a text that begins with @, `, % or a tab",
    "expected <block end>": "the indentation of this line fits none above it",
    "did not find expected key": "the indentation of this line fits none above it",
    "did not find expected '-' indicator": "a list ends where a key begins; indent the key, or the list",
    "unexpected end of stream": "a quote or a bracket is not closed",
}


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: its value, and where the value's parts stand."""

    file: str
    value: Any
    mark: Mark
    #: The path of `value` in the document, when a List was taken apart.
    prefix: Path = ()

    def position(self, path: Path) -> Position:
        """Where a field stands: its key, or the nearest part of the path that is written."""
        mark, found = self.mark, self.mark.position
        for step in (*self.prefix, *path):
            if step in mark.keys:
                found = mark.keys[step]
            elif step in mark.parts:
                found = mark.parts[step].position
            if step not in mark.parts:
                break
            mark = mark.parts[step]
        return found


def read(data: bytes, file: str) -> Iterator[Document]:
    """The documents of a file, in order, empty ones left out; a List gives its items.

    Raises DocumentError where the text is not YAML; what was before it was given.
    """
    text = _decode(data)
    if text.lstrip().startswith("{"):
        text = _PAIR.sub(_paired, text)
    try:
        builder = Builder()
        for event in yaml.parse(text, Loader=_Loader):
            if not isinstance(event, yaml.DocumentStartEvent):
                if isinstance(event, yaml.DocumentEndEvent) and builder.root is not None:
                    yield from _items(Document(file, *builder.root))
                else:
                    builder.take(event)
                continue
            builder = Builder()
    except yaml.MarkedYAMLError as error:
        raise _explained(error, text) from error
    except yaml.YAMLError as error:
        raise DocumentError("document-yaml", str(error).splitlines()[0], Position()) from error


def _decode(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise DocumentError(
            "document-too-large", f"{len(data)} bytes; at most {MAX_BYTES} of one file are read", Position()
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = Position(before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        raise DocumentError("document-encoding", f"byte 0x{data[error.start]:02x} is not UTF-8", place) from error
    if binary := _CONTROL.search(text):
        index = binary.start()
        raise DocumentError(
            "document-encoding",
            f"a control character (0x{ord(binary[0]):02x}) stands in the text; it is binary, or was damaged",
            Position(text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)),
        )
    return text


def _paired(match: re.Match[str]) -> str:
    return match[1] + str(json.loads(f'"{match[2]}"'))


def _items(document: Document) -> Iterator[Document]:
    value = document.value
    if value is None:
        return
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(value.get("items"), list):
        yield document
        return
    # The items of a FooList, as the API server answers one, need not say again what they are.
    said = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
    for index, item in enumerate(value["items"]):
        whole = {**said, **item} if isinstance(item, dict) and not item.get("kind") else item
        yield Document(document.file, whole, document.mark, ("items", index))


def _explained(error: yaml.MarkedYAMLError, text: str) -> DocumentError:
    mark = error.problem_mark or error.context_mark
    place = Position(mark.line + 1, mark.column + 1) if mark else Position()
    lines = text.splitlines()
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    message = " ".join(part for part in (error.context, error.problem) if part) or "this is not YAML"
    hint = next((hint for part, hint in _HINTS.items() if part in message), "")
    if line[: place.column].strip(" ").startswith("\t"):
        hint = "indent with spaces; YAML takes no tabs"
    rule = "document-too-deep" if "nesting depth" in message else "document-yaml"
    return DocumentError(rule, message, place, hint)
