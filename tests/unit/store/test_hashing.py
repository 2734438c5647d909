"""Owns what hashing decides without a file: the order of work, and what a digest is.

Refuses files; those are the integration tier's.
"""

from __future__ import annotations

import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.manifest import Algorithm
from gpustack_models.store.hashing import BOTH, SMALL, Hasher, plan


@given(st.lists(st.integers(0, SMALL * 4)))
def test_every_file_is_planned_once_and_longest_work_comes_first(sizes: list[int]) -> None:
    items = plan(sizes)
    assert sorted(index for item in items for index in item) == list(range(len(sizes)))
    alone = [sizes[item[0]] for item in items if sizes[item[0]] > SMALL]
    assert alone == sorted(alone, reverse=True)
    assert sum(1 for item in items if sizes[item[0]] <= SMALL) <= 1


def test_many_small_files_are_started_before_one_short_file() -> None:
    assert plan([SMALL + 1, *[1] * 100])[0] == tuple(range(1, 101))


# The git blob ids are what `git hash-object` prints.
KNOWN = {
    "empty": (b"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
    "hello": (b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
}


@pytest.mark.parametrize(("content", "blob"), KNOWN.values(), ids=KNOWN)
def test_both_digests_of_a_known_content(content: bytes, blob: str) -> None:
    hasher = Hasher(BOTH, len(content))
    hasher.update(content)
    sha256, gitsha1 = hasher.digests()
    assert (sha256.algorithm, sha256.hex) == (Algorithm.SHA256, hashlib.sha256(content).hexdigest())
    assert (gitsha1.algorithm, gitsha1.hex) == (Algorithm.GITSHA1, blob)


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
def test_how_a_content_is_cut_changes_nothing(content: bytes, cuts: list[int]) -> None:
    whole, pieces = Hasher(BOTH, len(content)), Hasher(BOTH, len(content))
    whole.update(content)
    edges = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    for start, end in itertools.pairwise(edges):
        pieces.update(memoryview(content)[start:end])
    assert whole.digests() == pieces.digests()
