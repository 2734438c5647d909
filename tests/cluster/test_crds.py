"""The CRDs as a person meets them: explained, listed by category and short name, with their columns."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest

from gpustack_models.core import crd
from gpustack_models.core.kinds import RESOURCES
from gpustack_models.core.resource import Resource
from tests.bed import Bed
from tests.bed.fixtures import Namespace
from tests.resources import DEPLOYMENT, DIGEST, HUGGING_FACE, INSTANCE, NODE_STORE, SETTING, Object

NOW = "2026-01-01T00:00:00Z"


def condition(kind: str, reason: str) -> Object:
    return {"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": NOW}


SHOWN = {
    "mart": (
        HUGGING_FACE,
        {
            "resolved": {"revision": "7ae5576", "manifestDigest": DIGEST, "digestSource": "Hub", "sizeBytes": 999},
            "nodes": {"ready": 3},
            "conditions": [condition("Resolved", "Resolved")],
        },
        {"REVISION": "7ae5576", "SIZE": "999", "RESOLVED": "True", "READY NODES": "3"},
    ),
    "md": (
        DEPLOYMENT,
        {"phase": "Ready", "ready": "2/2", "conditions": [condition("WeightsReady", "Mounted")]},
        {"PHASE": "Ready", "READY": "2/2", "WEIGHTS": "Mounted"},
    ),
    "inst": (INSTANCE, {"phase": "Running", "nodeName": "node-1"}, {"PHASE": "Running", "NODE": "node-1"}),
    "nms": (
        NODE_STORE,
        {"capacity": {"usedPercent": 75}, "modelCount": 2, "conditions": [condition("Ready", "Serving")]},
        {"USED": "75", "MODELS": "2", "READY": "True"},
    ),
    "set": (SETTING, None, {"VALUE": "24h"}),
}


@pytest.fixture(scope="module", autouse=True)
def crds(bed: Bed) -> None:
    bed.kubectl.apply(*map(crd.of, RESOURCES))
    for resource in RESOURCES:
        bed.kubectl("wait", "--for=condition=Established", f"crd/{resource.KIND.crd_name}", "--timeout=20s")


@pytest.fixture(params=list(SHOWN))
def shown(request: pytest.FixtureRequest, namespace: Namespace) -> Iterator[tuple[str, Namespace, dict[str, str]]]:
    short, (base, status, columns) = request.param, SHOWN[request.param]
    name = base["metadata"]["name"]
    namespace.kubectl.create({**base, "metadata": {"name": name}})
    if status is not None:
        patch = json.dumps({"status": status})
        namespace.kubectl("patch", short, name, "--subresource=status", "--type=merge", "-p", patch)
    yield short, namespace, columns
    namespace.kubectl.delete(short, name)


def test_the_columns_show_what_is_known(shown: tuple[str, Namespace, dict[str, str]]) -> None:
    short, namespace, columns = shown
    header, row = namespace.kubectl("get", short).splitlines()
    starts = [header.index(title) for title in (*columns, "AGE")]
    cells = [row[start:end].strip() for start, end in itertools.pairwise(starts)]
    assert dict(zip(columns, cells, strict=True)) == columns


def test_all_of_them_are_one_category(bed: Bed) -> None:
    names = bed.kubectl("api-resources", "--categories=gpustack", "-o", "name").split()
    assert sorted(names) == sorted(resource.KIND.crd_name for resource in RESOURCES)


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.KIND.kind)
def test_every_kind_is_explained(bed: Bed, resource: type[Resource]) -> None:
    text = " ".join(bed.kubectl("explain", f"{resource.KIND.plural}.spec").split())
    for info in resource.model_fields["spec"].annotation.model_fields.values():  # type: ignore[union-attr]
        assert info.alias in text
