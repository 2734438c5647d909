"""Owns the comparison of a folder with a manifest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.manifest import Algorithm, Entry, FileDigest, Manifest
from gpustack_models.core.verification import (
    Finding,
    Problem,
    compare_contents,
    compare_sizes,
    joined,
    summary,
)

ONE, TWO = FileDigest(Algorithm.GITSHA1, "1" * 40), FileDigest(Algorithm.GITSHA1, "2" * 40)
MANIFEST = Manifest.of((Entry("a", 1, ONE), Entry("b", 2, ONE), Entry("c/d", 3, ONE)))


def test_sizes() -> None:
    assert compare_sizes(MANIFEST, {"a": 1, "b": 9, "z": 5}) == (
        Finding("b", Problem.WRONG_SIZE, "2", "9"),
        Finding("c/d", Problem.MISSING, "3"),
        Finding("z", Problem.EXTRA, "", "5"),
    )


def test_contents_of_what_was_hashed() -> None:
    assert compare_contents(MANIFEST, {"a": ONE, "c/d": TWO}) == (
        Finding("c/d", Problem.WRONG_CONTENT, f"gitsha1:{'1' * 40}", f"gitsha1:{'2' * 40}"),
    )


def test_joined_is_by_path_and_summed_up() -> None:
    findings = joined([Finding("z", Problem.EXTRA)], [Finding("a", Problem.MISSING), Finding("b", Problem.EXTRA)])
    assert [finding.path for finding in findings] == ["a", "b", "z"]
    assert summary(findings) == "1 missing, 2 extra"


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3), min_size=1), st.data())
def test_nothing_is_found_exactly_when_nothing_differs(sizes: dict[str, int], data: st.DataObject) -> None:
    manifest = Manifest.of(Entry(path, size, ONE) for path, size in sizes.items())
    found = data.draw(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3)))
    assert (compare_sizes(manifest, found) == ()) is (found == sizes)
