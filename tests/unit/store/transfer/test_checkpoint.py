"""Owns the form of checkpoints: what is written is read back, and what is torn or foreign claims nothing.

Refuses files.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.manifest import Algorithm, FileDigest
from gpustack_models.store.transfer import checkpoint
from gpustack_models.store.transfer.checkpoint import Checkpoint

DIGEST = FileDigest(Algorithm.SHA256, "ab" * 32)
SIZE = 1 << 40

checkpoints = st.lists(st.integers(1, SIZE), unique=True).map(
    lambda positions: [Checkpoint(position, f"{position:064x}") for position in sorted(positions)]
)


def written(claims: list[Checkpoint]) -> bytes:
    return checkpoint.header(DIGEST, SIZE) + b"".join(checkpoint.line(one) for one in claims)


@given(checkpoints)
def test_what_is_written_is_read_back(claims: list[Checkpoint]) -> None:
    assert list(checkpoint.parse(written(claims), DIGEST, SIZE)) == claims
    assert checkpoint.kept(claims) == (claims[-1].position if claims else 0)


@given(checkpoints, st.integers(0, 10_000))
def test_a_torn_file_claims_a_part_of_the_truth(claims: list[Checkpoint], length: int) -> None:
    read = list(checkpoint.parse(written(claims)[:length], DIGEST, SIZE))
    assert read == claims[: len(read)]


@given(st.binary(max_size=300))
def test_noise_claims_nothing(data: bytes) -> None:
    assert checkpoint.parse(data, DIGEST, SIZE) == ()


FOREIGN = {
    "another file": (FileDigest(Algorithm.SHA256, "cd" * 32), SIZE),
    "another size": (DIGEST, SIZE - 1),
    "another algorithm": (FileDigest(Algorithm.GITSHA1, "ab" * 20), SIZE),
}


@pytest.mark.parametrize(("digest", "size"), FOREIGN.values(), ids=FOREIGN)
def test_another_files_checkpoints_claim_nothing(digest: FileDigest, size: int) -> None:
    data = written([Checkpoint(1, "0" * 64)])
    assert checkpoint.parse(data, DIGEST, SIZE)
    assert checkpoint.parse(data, digest, size) == ()


def test_positions_that_go_back_or_beyond_the_file_end_the_claims() -> None:
    for bad in (5, 3, SIZE + 1):
        claims = [Checkpoint(5, "0" * 64), Checkpoint(bad, "1" * 64), Checkpoint(SIZE, "2" * 64)]
        assert list(checkpoint.parse(written(claims), DIGEST, SIZE)) == claims[:1]


def test_a_checkpoint_is_due_every_interval() -> None:
    assert not checkpoint.due(checkpoint.INTERVAL - 1, 0)
    assert checkpoint.due(checkpoint.INTERVAL, 0)
    assert not checkpoint.due(2 * checkpoint.INTERVAL - 1, checkpoint.INTERVAL)
