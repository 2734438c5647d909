"""A YAML text is one value to kubectl and to `gsm`."""

from __future__ import annotations

import json

from tests.bed import Bed
from tests.scalars import KEYS, PLAIN


def test_plain_scalars_are_read_alike(bed: Bed) -> None:
    lines = [f"  k{index}: {text}" for index, text in enumerate(PLAIN)]
    document = "\n".join(["apiVersion: v1", "kind: ConfigMap", "metadata: {name: a}", "data:", *lines])
    printed = bed.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=document)
    read = json.loads(printed)["data"]
    assert {text: read[f"k{index}"] for index, text in enumerate(PLAIN)} == PLAIN


def test_keys_are_read_alike(bed: Bed) -> None:
    for key, text in KEYS.items():
        document = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  {key}: x\n"
        printed = bed.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=document)
        assert json.loads(printed)["data"] == {text: "x"}, key
