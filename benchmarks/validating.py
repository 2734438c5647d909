"""Measures `gsm validate` on 1,000 objects, start included, against kubeconform on the same file and schemas.

Refuses to call the two alike: kubeconform judges schemas, `gsm validate` every rule as well, with lines and columns.
"""

from __future__ import annotations

import json
import os
from copy import deepcopy
from pathlib import Path
from typing import Any

from benchmarks.harness import Case, measure, table
from benchmarks.material import BIN, FOLDER
from gpustack_models.core import crd
from gpustack_models.core.kinds import RESOURCES
from tests.bed.cache import Cache
from tests.resources import ALL, Object

ROUNDS = 10
OBJECTS = 1000


def run(rounds: int) -> str:
    """The section's text."""
    folder = FOLDER / "validating"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "objects.yaml"
    file.write_text(_objects())
    for resource in RESOURCES:
        schema = crd.of(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        (folder / f"{resource.KIND.singular}.json").write_text(json.dumps(_closed(deepcopy(schema))))
    kubeconform = Cache(dict(os.environ)).ensure("kubeconform")["kubeconform"]
    cases = [
        Case("gsm validate", [str(BIN / "gsm"), "validate", "--quiet", "-f", str(file)]),
        Case("kubeconform, schemas alone", _kubeconform(kubeconform, folder, file)),
        Case("gsm --version", [str(BIN / "gsm"), "--version"]),
    ]
    told = (
        f"## Validating {OBJECTS:,} objects\n\n"
        f"One file of {OBJECTS:,} objects of four kinds ({file.stat().st_size >> 10} KiB of YAML), the start of the "
        "process included. kubeconform judges the schemas alone, on every processor; `gsm validate` judges every rule, "
        "the engines' command lines among them, and keeps line and column of every field. `gsm --version` is a start "
        "alone."
    )
    return f"{told}\n\n{table(measure(cases, rounds), cases[0].name)}"


def _kubeconform(program: Path, folder: Path, file: Path) -> list[str]:
    location = f"{folder}/{{{{.ResourceKind}}}}.json"
    return [str(program), "-strict", "-n", str(os.cpu_count()), "-schema-location", location, str(file)]


def _objects() -> str:
    from gpustack_models.cli.yamltext import dump

    bases = [base for base in ALL.values() if base["kind"] != "Setting"]
    return "---\n".join(dump(_named(bases[number % len(bases)], number)) for number in range(OBJECTS))


def _named(base: Object, number: int) -> Object:
    return {**base, "metadata": {**base["metadata"], "name": f"object-{number}"}}


def _closed(node: Any) -> Any:
    """A schema that refuses unknown members, as the API server's strict decoding does; metadata is Kubernetes' own."""
    if isinstance(node, dict):
        for part in node.values():
            _closed(part)
        if isinstance(node.get("properties"), dict):
            node["properties"].pop("metadata", None)
            if "kind" not in node["properties"] and not node.get("x-kubernetes-preserve-unknown-fields"):
                node.setdefault("additionalProperties", False)
    return node
