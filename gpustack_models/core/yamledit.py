"""Owns setting single values inside YAML text: every other byte stays, comments, order and quoting with it.

Refuses an edit whose result would not read back as asked (a value behind an alias or a merge).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.nodes import MappingNode, ScalarNode

from gpustack_models.core.documents import Document, read
from gpustack_models.core.paths import Path
from gpustack_models.core.scalars import is_text
from gpustack_models.core.yamlbuilder import DocumentError
from gpustack_models.errors import GsmError, Reason

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Node = Any  # the library's nodes carry no types for their members


@dataclass(frozen=True, slots=True)
class Set:
    """Set the member at `path` (from the root of the document that begins at `line`, counted from 1) to a text.

    The map that holds it must exist. A new member goes below its sibling `after`, or below the last one.
    """

    line: int
    path: Path
    value: str
    after: str = ""


def edited(text: str, edits: Sequence[Set], name: str) -> str:
    """The text with the edits made. Raises GsmError(InvalidInput) when one cannot be made in place."""
    before = documents(text, name)
    roots = {node.start_mark.line + 1: node for node in yaml.compose_all(text, _Loader) if node is not None}
    splices = [_splice(text, roots[edit.line], edit, name) for edit in edits]
    for start, end, replacement in sorted(splices, reverse=True):
        text = text[:start] + replacement + text[end:]
    if _reads_as(text, [_expected(document, edits) for document in before]):
        return text
    raise GsmError(Reason.INVALID_INPUT, f"{name}: cannot be edited in place", hint="write the values by hand")


def documents(text: str, name: str) -> list[Document]:
    """The documents of a text. Raises GsmError(InvalidInput) with the line and column of what is wrong."""
    try:
        return list(read(text.encode(), name))
    except DocumentError as error:
        place = f"{name}:{error.position.line}:{error.position.column}"
        raise GsmError(Reason.INVALID_INPUT, f"{place}: {error.message}", hint=error.hint) from error


def _reads_as(text: str, expected: list[Any]) -> bool:
    try:
        return [document.value for document in read(text.encode(), "")] == expected
    except DocumentError:
        return False


def _expected(document: Document, edits: Sequence[Set]) -> Any:
    value, prefix = _unshared(document.value), document.prefix
    for edit in edits:
        if edit.line == document.mark.position.line and edit.path[: len(prefix)] == prefix:
            holder = value
            for key in edit.path[len(prefix) : -1]:
                holder = holder[key]
            holder[edit.path[-1]] = edit.value
    return value


def _unshared(value: Any) -> Any:
    # Aliases make places share a value; an edit is of one place only.
    if isinstance(value, dict):
        return {key: _unshared(member) for key, member in value.items()}
    return [_unshared(item) for item in value] if isinstance(value, list) else value


def _splice(text: str, root: _Node, edit: Set, name: str) -> tuple[int, int, str]:
    holder = root
    for key in edit.path[:-1]:
        holder = _child(holder, key)
    if not isinstance(holder, MappingNode) or not holder.value:
        raise GsmError(Reason.INVALID_INPUT, f"{name}: {'.'.join(map(str, edit.path))} has no place to be written")
    members = {key.value: (key, value) for key, value in holder.value}
    if member := members.get(edit.path[-1]):
        return _replaced(text, member, edit.value)
    sibling = members.get(edit.after) or holder.value[-1]
    return _inserted(text, bool(holder.flow_style), sibling, str(edit.path[-1]), edit.value)


def _child(node: _Node, key: str | int) -> _Node:
    if isinstance(key, int):
        return node.value[key]
    # None for what comes out of a merge: it is written elsewhere, for others too.
    members = node.value if isinstance(node, MappingNode) else []
    return next((value for name, value in members if name.value == key), None)


def _replaced(text: str, member: tuple[_Node, _Node], value: str) -> tuple[int, int, str]:
    node = member[1]
    start, end = node.start_mark.index, _end(text, member)
    if start == node.end_mark.index:  # `key:` with nothing behind it; the node's mark is then wherever the next one is
        return end, end, f" {_scalar(value)}"
    style = node.style if isinstance(node, ScalarNode) else None
    return start, end, f"{style}{value}{style}" if style in ("'", '"') else _scalar(value)


def _inserted(text: str, flow: bool, sibling: tuple[_Node, _Node], key: str, value: str) -> tuple[int, int, str]:
    at = _end(text, sibling)
    newline = "\r\n" if "\r\n" in text else "\n"
    line_start = text.rfind("\n", 0, sibling[0].start_mark.index) + 1
    indent = text[line_start : sibling[0].start_mark.index]
    if flow:
        separator = f",{newline}{indent}" if line_start and not indent.strip() else ", "
        return at, at, f'{separator}"{key}": "{value}"'
    line_end = text.find("\n", at)
    # In a sequence the first key of an item stands behind a dash; the others stand below it.
    line = f"{' ' * sibling[0].start_mark.column}{key}: {_scalar(value)}"
    if line_end < 0:
        return len(text), len(text), f"{newline}{line}"
    return line_end + 1, line_end + 1, f"{line}{newline}"


def _end(text: str, member: tuple[_Node, _Node]) -> int:
    """Where the content of a member ends, without the line feeds and comments behind it."""
    key, node = member
    if not isinstance(node, ScalarNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last if isinstance(node, MappingNode) else (last, last))
    if node.start_mark.index == node.end_mark.index:
        return text.index(":", key.end_mark.index) + 1
    return len(text[: node.end_mark.index].rstrip("\r\n"))


def _scalar(value: str) -> str:
    # A commit may be all digits, or 12e34: a number to a reader, unless it is quoted.
    return value if is_text(value) else f'"{value}"'
