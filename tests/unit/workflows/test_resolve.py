"""Owns which file access is checked with."""

from __future__ import annotations

import pytest

from gpustack_models.core.manifest import Algorithm, Entry, FileDigest
from gpustack_models.workflows.resolve import first_file

ROWS = {
    "the-first-at-the-root": (["b", "a/x", "c"], "b"),
    "by-bytes-not-by-letters": (["z", "é", "Z"], "Z"),
    "none-at-the-root": (["b/y", "a/z"], "a/z"),
    "no-file": ([], None),
}


@pytest.mark.parametrize(("paths", "first"), ROWS.values(), ids=ROWS.keys())
def test_first_file(paths: list[str], first: str | None) -> None:
    digest = FileDigest(Algorithm.GITSHA1, "0" * 40)
    assert first_file([Entry(path, 1, digest) for path in paths]) == first
