"""Owns structural schemas: what a CRD carries of a resource, made from the fields of its model.

Refuses types that a structural schema cannot express; a model with one fails to build.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from gpustack_models.core.paths import EACH
from gpustack_models.core.resource import Field, IntOrString, JsonObject, Limits, ObjectMeta, Record, Resource

#: Which row of `core.rules` a limit carries: kept in the schema for the laptop, left out of the CRD.
RULE, DUPLICATE_RULE = "x-rule", "x-duplicate-rule"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_SIZES = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems"), "object": ("", "maxProperties")}


@cache
def of(resource: type[Resource]) -> JsonObject:
    """The structural schema of a whole resource, without CEL rules. Shared: treat it as frozen."""
    return _record(resource, defaults=True)


def wire_name(name: str, info: FieldInfo) -> str:
    """A field's name in an object."""
    return info.alias or name


def documented(info: FieldInfo) -> Field:
    """The documentation and limits of a model's field."""
    return next(part for part in info.metadata if isinstance(part, Field))


def bare(annotation: Any) -> Any:
    """A type without `| None`."""
    if get_origin(annotation) in (Union, types.UnionType) and annotation != IntOrString:
        rest = [part for part in get_args(annotation) if part is not type(None)]
        return Union[tuple(rest)]  # noqa: UP007 - built from a value
    return annotation


def _record(model: type[Record], *, defaults: bool) -> JsonObject:
    properties: JsonObject = {}
    required = []
    for name, info in model.model_fields.items():
        wire = wire_name(name, info)
        properties[wire] = _field(info, defaults=defaults and wire != "status")
        if info.is_required() and wire not in ("apiVersion", "kind"):
            required.append(wire)
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if not model.CLOSED:
        schema[_PRESERVE] = True
    return schema


def _field(info: FieldInfo, *, defaults: bool) -> JsonObject:
    field = documented(info)
    kind = bare(info.annotation)
    if kind is ObjectMeta:
        # Kubernetes knows metadata itself; its name is written so that a rule may point at it.
        return {"type": "object", "properties": {"name": {"type": "string"}}}
    schema = {"description": field.doc, **_typed(kind, field, defaults=defaults)}
    if field.format:
        schema["format"] = field.format
    if defaults and not info.is_required() and (default := _default(info.default)) is not None:
        schema["default"] = default
    return schema


def _default(value: Any) -> Any:
    # An empty default is left out: it would only litter the stored object.
    if isinstance(value, Record):
        # Whole, and not {}: the API server judges a default by the rules before it fills in its members.
        members = {
            wire_name(name, info): _default(getattr(value, name)) for name, info in type(value).model_fields.items()
        }
        return {name: member for name, member in members.items() if member is not None} or None
    return (str(value) if isinstance(value, StrEnum) else value) if isinstance(value, str | int) and value else None


def _typed(kind: Any, field: Field, *, defaults: bool) -> JsonObject:
    if get_origin(kind) is tuple:
        return _list(get_args(kind)[0], field, defaults=defaults)
    if get_origin(kind) is dict:
        return _map(get_args(kind)[1], field)
    if isinstance(kind, type) and issubclass(kind, Record):
        return _record(kind, defaults=defaults)
    return _scalar(kind, field.limits)


def _list(kind: Any, field: Field, *, defaults: bool) -> JsonObject:
    items = _typed(kind, Field(field.doc, field.items), defaults=defaults)
    schema = {"type": "array", "items": items, **_limits("array", field.limits)}
    if field.duplicate_rule:
        schema[DUPLICATE_RULE] = field.duplicate_rule
    if field.keys:
        schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(field.keys)}
    elif field.unique or field.atomic:
        schema["x-kubernetes-list-type"] = "set" if field.unique else "atomic"
    return schema


def _map(kind: Any, field: Field) -> JsonObject:
    if kind is Any:
        return {"type": "object", _PRESERVE: True}
    return {
        "type": "object",
        "additionalProperties": _scalar(kind, field.items),
        **_limits("object", field.limits),
    }


def _scalar(kind: Any, limits: Limits) -> JsonObject:
    if kind == IntOrString:
        either: JsonObject = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
        return either | _limits("string", limits)
    if isinstance(kind, type) and issubclass(kind, StrEnum | str):
        return {"type": "string", **_limits("string", limits)}
    name = _NAMES[kind]
    return {"type": name, **({"format": "int64"} if kind is int else {}), **_limits(name, limits)}


_NAMES: Mapping[Any, str] = {int: "integer", bool: "boolean"}


def _limits(kind: str, limits: Limits) -> JsonObject:
    smallest, largest = _SIZES.get(kind, ("", ""))
    named = {
        RULE: limits.rule or None,
        smallest: limits.min_size,
        largest: limits.max_size,
        "minimum": limits.minimum,
        "maximum": limits.maximum,
        "pattern": limits.pattern or None,
        "enum": list(map(str, limits.one_of)) if limits.one_of is not None else None,
    }
    return {name: value for name, value in named.items() if name and value is not None}


@cache
def list_keys(resource: type[Resource]) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """The keys of each keyed list, by the list's pattern."""
    return dict(_keys(of(resource), ()))


def _keys(schema: JsonObject, at: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    for name, part in schema.get("properties", {}).items():
        yield from _keys(part, (*at, name))
    if "items" in schema:
        if "x-kubernetes-list-map-keys" in schema:
            yield at, tuple(schema["x-kubernetes-list-map-keys"])
        yield from _keys(schema["items"], (*at, EACH))
