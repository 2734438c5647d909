"""Owns what a schema alone decides: types, required and unknown fields, sizes, ranges, enumerations, duplicates.

Refuses what the API server refuses before any rule is asked, in words that a person can act on.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any

from gpustack_models.core import scalars, schema
from gpustack_models.core.forms import SUBDOMAIN
from gpustack_models.core.paths import Key, Path
from gpustack_models.core.resource import JsonObject, Resource
from gpustack_models.core.rules.model import Violation

_TEXTS = {"type": "string"}
_TEXT_MAP = {"type": "object", "additionalProperties": _TEXTS}
_TEXT_LIST = {"type": "array", "items": _TEXTS}
_KEPT = {"x-kubernetes-preserve-unknown-fields": True}
#: metav1.ObjectMeta: what the API server decodes strictly.
METADATA: JsonObject = {
    "type": "object",
    "properties": {
        **dict.fromkeys(
            ("name", "generateName", "namespace", "uid", "resourceVersion", "selfLink", "creationTimestamp"), _TEXTS
        ),
        "deletionTimestamp": _TEXTS,
        "deletionGracePeriodSeconds": {"type": "integer"},
        "generation": {"type": "integer"},
        "labels": _TEXT_MAP,
        "annotations": _TEXT_MAP,
        "finalizers": _TEXT_LIST,
        "ownerReferences": {"type": "array", "items": {"type": "object", **_KEPT}},
        "managedFields": {"type": "array", "items": {"type": "object", **_KEPT}},
    },
}
MAX_NAME = 253
#: How much of `generateName` the API server keeps before the five random characters, for which these stand.
MAX_GENERATED = 58
_SUFFIX = "bcdfg"

_NOUNS = {
    "object": "a map",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "boolean": "true or false",
}
_PATTERN_WORDS = {"quantity-form": "must be a quantity of Kubernetes, such as 500m or 16Gi"}
_UNITS = {"string": "characters", "array": "items", "object": "members"}


def prepared(resource: type[Resource], value: JsonObject) -> JsonObject:
    """The object as the API server would store it: null members left out, defaults filled in, a name generated."""
    filled = _prepared(schema.of(resource), value)
    assert isinstance(filled, dict)  # noqa: S101 - a map stays one
    metadata = filled.get("metadata")
    if isinstance(metadata, dict) and not metadata.get("name") and isinstance(metadata.get("generateName"), str):
        filled["metadata"] = {**metadata, "name": metadata["generateName"][:MAX_GENERATED] + _SUFFIX}
    return filled


def check(resource: type[Resource], value: JsonObject) -> Iterator[Violation]:
    """Everything that the schema refuses in a prepared object."""
    metadata = value.get("metadata", {})
    yield from _check(METADATA, metadata, ("metadata",))
    if isinstance(metadata, dict):
        yield from _name(metadata)
    yield from _check(schema.of(resource), {name: part for name, part in value.items() if name != "metadata"}, ())


def nearest(name: str, known: Iterator[str] | list[str]) -> str:
    """A hint that names the nearest known word, or an empty string."""
    by_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), by_lower, 1, 0.6)
    return f"did you mean {by_lower[close[0]]}?" if close else ""


def _prepared(of: JsonObject, value: Any) -> Any:
    if isinstance(value, dict):
        properties = of.get("properties", {})
        rest = of.get("additionalProperties", {})
        filled = {
            name: _prepared(properties.get(name, rest), member)
            for name, member in value.items()
            if member is not None or not (name in properties or rest)
        }
        for name, part in properties.items():
            if name not in filled and "default" in part:
                default = part["default"]
                filled[name] = _prepared(part, default) if isinstance(default, dict) else default
        return filled
    if isinstance(value, list):
        return [_prepared(of.get("items", {}), item) for item in value]
    return value


def _name(metadata: JsonObject) -> Iterator[Violation]:
    name = metadata.get("name")
    if name is None and not metadata.get("generateName"):
        yield Violation("object-name", ("metadata", "name"), "is required: an object has a name", blocking=True)
    elif isinstance(name, str) and not (len(name) <= MAX_NAME and SUBDOMAIN.fits(name)):
        yield Violation("object-name", ("metadata", "name"), f"must be {SUBDOMAIN.words}")


def _check(of: JsonObject, value: Any, path: Path) -> Iterator[Violation]:
    if of.get("x-kubernetes-int-or-string"):
        yield from _int_or_string(of, value, path)
        return
    wanted = of.get("type")
    found = _type_of(value)
    if wanted is not None and found != wanted:
        yield Violation("schema-type", path, *_wrong_type(wanted, found, value), blocking=True)
        return
    if found == "object":
        yield from _object(of, value, path)
    elif found == "array":
        yield from _array(of, value, path)
    elif found == "string":
        yield from _string(of, value, path)
    elif found == "integer":
        yield from _integer(of, value, path)


def _object(of: JsonObject, value: JsonObject, path: Path) -> Iterator[Violation]:
    properties = of.get("properties")
    members = of.get("additionalProperties")
    for name in of.get("required", ()):
        if name not in value:
            yield Violation("schema-required", (*path, name), "is required", blocking=True, scope=path)
    if members is not None:
        yield from _size(of, "maxProperties", len(value), path)
    for name, member in value.items():
        part = (properties or {}).get(name)
        if part is not None:
            yield from _check(part, member, (*path, name))
        elif members is not None:
            yield from _check(members, member, (*path, Key(name)))
        elif properties is not None and "x-kubernetes-preserve-unknown-fields" not in of:
            yield Violation(
                "schema-unknown-field", (*path, name), "is not a known field", nearest(name, list(properties))
            )


def _array(of: JsonObject, value: list[Any], path: Path) -> Iterator[Violation]:
    yield from _size(of, "maxItems", len(value), path)
    yield from _size(of, "minItems", len(value), path)
    for index, item in enumerate(value):
        yield from _check(of["items"], item, (*path, index))
    yield from _duplicates(of, value, path)


def _duplicates(of: JsonObject, value: list[Any], path: Path) -> Iterator[Violation]:
    keys = of.get("x-kubernetes-list-map-keys")
    if keys is None and of.get("x-kubernetes-list-type") != "set":
        return
    seen: dict[str, int] = {}
    for index, item in enumerate(value):
        if keys is not None and not isinstance(item, dict):
            continue
        identity = repr(item if keys is None else [item.get(key) for key in keys])
        if identity in seen:
            at = (*path, index, *(keys or ())[:1])
            rule = of.get(schema.DUPLICATE_RULE, "schema-duplicate")
            words = f"stands twice in the list: item {seen[identity]} has it already"
            yield Violation(rule, at, words, scope=path)
        seen.setdefault(identity, index)


def _string(of: JsonObject, value: str, path: Path) -> Iterator[Violation]:
    yield from _size(of, "maxLength", len(value), path)
    yield from _size(of, "minLength", len(value), path)
    if "enum" in of and value not in of["enum"]:
        words = ", ".join(f'"{each}"' for each in of["enum"])
        rule = of.get(schema.RULE, "schema-enum")
        hint = nearest(value, of["enum"])
        yield Violation(rule, path, f'unsupported value "{value:.100}": supported values: {words}', hint, blocking=True)
    yield from _pattern(of, value, path)


def _pattern(of: JsonObject, value: str, path: Path) -> Iterator[Violation]:
    # A pattern's $ is RE2's, the very end; Python's would also stand before a last line feed.
    if "pattern" in of and re.search(of["pattern"].replace("$", r"\Z"), value) is None:
        rule = of.get(schema.RULE, "schema-pattern")
        yield Violation(rule, path, _PATTERN_WORDS.get(rule, f"{value!r:.100} should match '{of['pattern']}'"))


def _integer(of: JsonObject, value: int, path: Path) -> Iterator[Violation]:
    rule = of.get(schema.RULE, "schema-range")
    if "minimum" in of and value < of["minimum"]:
        yield Violation(rule, path, f"{value} should be greater than or equal to {of['minimum']}")
    if "maximum" in of and value > of["maximum"]:
        yield Violation(rule, path, f"{value} should be less than or equal to {of['maximum']}")
    if not -(1 << 63) <= value < 1 << 63:
        yield Violation("schema-range", path, f"{value} is out of range", blocking=True)


def _int_or_string(of: JsonObject, value: Any, path: Path) -> Iterator[Violation]:
    found = _type_of(value)
    if found == "string":
        yield from _pattern(of, value, path)
    elif found != "integer":
        hint = f'quote it: "{value}"' if found == "number" else ""
        yield Violation(
            "schema-type", path, f"must be a whole number or a text, not {_NOUNS.get(found, found)}", hint, True
        )


def _size(of: JsonObject, limit: str, size: int, path: Path) -> Iterator[Violation]:
    bound = of.get(limit)
    least = limit.startswith("min")
    if bound is None or (size >= bound if least else size <= bound):
        return
    unit = _UNITS[of["type"]]
    rule = of.get(schema.RULE, "schema-size")
    yield Violation(rule, path, f"must have at {'least' if least else 'most'} {bound} {unit}; there are {size}")


def _type_of(value: Any) -> str:
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return name
    return "null"


_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
    (dict, "object"),
    (list, "array"),
)


def _wrong_type(wanted: str, found: str, value: Any) -> tuple[str, str]:
    nouns = {**_NOUNS, "number": "a number", "null": "nothing"}
    message = f"must be {nouns[wanted]}, but {nouns[found]} stands here"
    if wanted == "string" and found in ("boolean", "integer", "number"):
        return message, "quote it: YAML reads yes, no, on, off and numbers as other than text unless quoted"
    if wanted in ("integer", "boolean") and found == "string" and _type_of(_unquoted(value)) == wanted:
        return message, f"write it without quotes: {value}"
    if wanted == "array":
        return message, "begin each item with a dash"
    return message, "write `name: value` lines, without a dash" if (wanted, found) == ("object", "array") else ""


def _unquoted(value: str) -> scalars.Scalar:
    try:
        return scalars.resolve(value, plain=True, tag=None)
    except ValueError:
        return None
