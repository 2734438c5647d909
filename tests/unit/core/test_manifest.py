"""Owns the vectors of the canonical manifest. Refuses nothing yet: laws follow beside it."""

import pytest

from gpustack_models.core.manifest import Algorithm, Entry, FileDigest, Manifest
from gpustack_models.errors import GsmError, Reason


def test_the_bytes_are_one_sorted_line_a_file() -> None:
    entries = [
        Entry("model.safetensors", 453864, FileDigest(Algorithm.SHA256, "81" * 32)),
        Entry("config.json", 807, FileDigest(Algorithm.GITSHA1, "4f" * 20)),
    ]
    assert Manifest.of(entries).data == (
        b"gpustack-manifest v1\n"
        b"gitsha1:" + b"4f" * 20 + b" 807 config.json\n"
        b"sha256:" + b"81" * 32 + b" 453864 model.safetensors\n"
    )


def test_a_climbing_path_refuses_the_whole_manifest() -> None:
    with pytest.raises(GsmError) as caught:
        Manifest.of([Entry("../x", 1, FileDigest(Algorithm.GITSHA1, "4f" * 20))])
    assert caught.value.reason is Reason.INVALID_MANIFEST
