"""What is committed is what is generated."""

import pytest

from gpustack_models.core import schema
from gpustack_models.core.crd import of
from gpustack_models.core.kinds import RESOURCES
from gpustack_models.core.reasons import UpToDateReason, WaitReason, WeightsReason
from gpustack_models.core.reasontable import REASONS
from gpustack_models.core.resource import Resource
from gpustack_models.core.rules import table
from gpustack_models.core.rules.model import Where
from tests.generated import committed, files


@pytest.mark.parametrize("name", sorted(files()))
def test_a_generated_file_is_committed_as_it_is_made(name: str) -> None:
    assert committed().get(name) == files()[name], "make generated"


def test_nothing_else_stands_among_the_generated_files() -> None:
    assert committed().keys() <= files().keys()


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.KIND.kind)
def test_a_crd_is_named_and_shown_as_specified(resource: type[Resource]) -> None:
    spec = of(resource)["spec"]
    kind = resource.KIND
    assert spec["names"]["categories"] == ["gpustack"]
    assert spec["scope"] == ("Cluster" if kind.kind == "NodeModelStore" else "Namespaced")
    assert spec["versions"][0].get("subresources") == (None if kind.kind == "Setting" else {"status": {}})


@pytest.mark.parametrize(
    ("kind", "short", "columns"),
    [
        ("ModelArtifact", "mart", ["Revision", "Size", "Resolved", "Ready nodes", "Age"]),
        ("ModelDeployment", "md", ["Phase", "Ready", "Weights", "Age"]),
        ("Instance", "inst", ["Phase", "Node", "Age"]),
        ("NodeModelStore", "nms", ["Used", "Models", "Ready", "Age"]),
        ("Setting", "set", ["Value", "Age"]),
    ],
)
def test_the_columns_are_those_of_the_specification(kind: str, short: str, columns: list[str]) -> None:
    resource = next(each for each in RESOURCES if each.KIND.kind == kind)
    spec = of(resource)["spec"]
    shown = [each["name"] for each in spec["versions"][0]["additionalPrinterColumns"] if "priority" not in each]
    assert (spec["names"]["shortNames"], shown) == ([short], columns)


def test_every_reason_has_its_row() -> None:
    deployment = [row.reason for row in REASONS["ModelDeployment"]]
    assert deployment == [*WeightsReason, *UpToDateReason]
    assert [row.reason for row in REASONS["Instance"]] == list(WaitReason)


def test_every_row_has_an_id_of_its_own() -> None:
    ids = [row.id for row in table.ROWS]
    assert sorted(set(ids)) == sorted(ids)


@pytest.mark.parametrize("row", table.ROWS, ids=lambda row: row.id)
def test_a_row_is_enforced_where_it_says(row: object) -> None:
    assert isinstance(row, type(table.ROWS[0]))
    assert bool(row.cel) == (row.where in (Where.CEL, Where.BOTH))
    assert row.check is None or row.where is Where.WEBHOOK


def test_every_limit_names_a_row_of_the_table() -> None:
    def rules(node: object) -> set[str]:
        if isinstance(node, dict):
            own = {node[key] for key in (schema.RULE, schema.DUPLICATE_RULE) if key in node}
            return own.union(*map(rules, node.values()))
        return set()

    named = set().union(*(rules(schema.of(resource)) for resource in RESOURCES))
    assert named - {"quantity-form"} == {
        row.id for row in table.ROWS if row.where is Where.SCHEMA and row.kind != "every resource"
    }
