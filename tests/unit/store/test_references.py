"""Owns what a restart makes of references, row for row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.store.clock import Instant
from gpustack_models.store.records import Reference
from gpustack_models.store.references import Mounted, reconcile

OLD, NOW = Instant(1.0), Instant(9.0)
A, B = "sha256:" + "a" * 64, "sha256:" + "b" * 64


@pytest.mark.parametrize(
    ("known", "mounted", "kept", "adopted", "dropped"),
    [
        pytest.param({"/1": A}, {"/1": A}, ["/1"], [], [], id="in both: kept"),
        pytest.param({}, {"/1": A}, [], [("/1", A)], [], id="only mounted: adopted"),
        pytest.param({"/1": A}, {}, [], [], ["/1"], id="only in the ledger: dropped"),
        pytest.param({"/1": A}, {"/1": B}, [], [("/1", B)], [], id="two digests: the mounted one wins"),
    ],
)
def test_reconcile(
    known: dict[str, str],
    mounted: dict[str, str],
    kept: list[str],
    adopted: list[tuple[str, str]],
    dropped: list[str],
) -> None:
    found = reconcile(
        [Reference("csi", target, digest, OLD) for target, digest in known.items()],
        [Mounted(target, digest) for target, digest in mounted.items()],
        NOW,
    )
    assert [each.target for each in found.kept] == kept
    assert [(each.target, each.digest) for each in found.adopted] == adopted
    assert [each.target for each in found.dropped] == dropped


targets = st.dictionaries(st.sampled_from(["/1", "/2", "/3", "/4"]), st.sampled_from([A, B]))


@given(targets, targets)
def test_afterwards_the_references_are_what_is_mounted(known: dict[str, str], mounted: dict[str, str]) -> None:
    found = reconcile(
        [Reference("csi", target, digest, OLD) for target, digest in known.items()],
        [Mounted(target, digest) for target, digest in mounted.items()],
        NOW,
    )
    after = {each.target: each.digest for each in (*found.kept, *found.adopted)}
    assert after == mounted
    assert {each.target for each in found.dropped} == known.keys() - mounted.keys()
