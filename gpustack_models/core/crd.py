"""Owns the CustomResourceDefinitions: schemas from the models, CEL rules from the table, columns and names.

Refuses to be edited by hand: `deploy/crds/` holds what this makes, and a test compares.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from gpustack_models.core import schema
from gpustack_models.core.paths import EACH
from gpustack_models.core.resource import Column, JsonObject, Resource
from gpustack_models.core.rules import table
from gpustack_models.core.rules.model import Cel

CATEGORY = "gpustack"


def of(resource: type[Resource]) -> JsonObject:
    """The CustomResourceDefinition of a resource."""
    kind = resource.KIND
    version: JsonObject = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": list(map(_column, kind.columns)),
        "schema": {"openAPIV3Schema": _schema(resource)},
    }
    if kind.has_status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.crd_name},
        "spec": {
            "group": kind.group,
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.singular,
                "shortNames": [kind.short_name],
                "categories": [CATEGORY],
            },
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _schema(resource: type[Resource]) -> JsonObject:
    whole = deepcopy(schema.of(resource))
    _strip(whole)
    whole["description"] = resource.__doc__ or ""
    for row in table.judged(resource):
        for cel in row.cel:
            _at(whole, cel.at).setdefault("x-kubernetes-validations", []).append(_validation(cel))
    return whole


def _validation(cel: Cel) -> JsonObject:
    validation = {"rule": cel.expression, "message": cel.message}
    if cel.member:
        validation["fieldPath"] = "".join(f".{step}" for step in cel.member)
    return validation


def _at(node: JsonObject, pattern: tuple[str, ...]) -> JsonObject:
    for step in pattern:
        node = (node.get("items") or node["additionalProperties"]) if step == EACH else node["properties"][step]
    return node


def _strip(node: Any) -> None:
    if isinstance(node, dict):
        for private in (schema.RULE, schema.DUPLICATE_RULE):
            node.pop(private, None)
        for part in node.values():
            _strip(part)


def _column(column: Column) -> JsonObject:
    shown = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return {**shown, "priority": 1} if column.wide else shown
