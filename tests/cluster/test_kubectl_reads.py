"""A YAML text is one value to kubectl and to `gsm`."""

from __future__ import annotations

import json

from tests.bed import Bed
from tests.scalars import PLAIN


def test_plain_scalars_are_read_alike(bed: Bed) -> None:
    lines = [f"  k{index}: {text}" for index, text in enumerate(PLAIN)]
    document = "\n".join(["apiVersion: v1", "kind: ConfigMap", "metadata: {name: a}", "data:", *lines])
    printed = bed.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=document)
    read = json.loads(printed)["data"]
    assert {text: read[f"k{index}"] for index, text in enumerate(PLAIN)} == PLAIN
