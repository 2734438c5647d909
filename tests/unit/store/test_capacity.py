"""Owns the arithmetic of room, and kubelet's cap, row for row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.manifest import Algorithm, FileDigest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.capacity import (
    KubeletThresholds,
    Usage,
    Watermarks,
    capped,
    outstanding,
    room,
    to_free,
)

GIB = 1 << 30
A, B = (FileDigest(Algorithm.SHA256, letter * 64) for letter in "ab")


def test_reserved_blocks_count_as_used() -> None:
    usage = Usage.of(blocks=1000, available=400, block_size=4096)
    assert (usage.total, usage.used, usage.free, usage.percent) == (4_096_000, 2_457_600, 1_638_400, 60.0)


@pytest.mark.parametrize(("high", "low"), [(70, 70), (60, 70), (101, 50), (50, -1)])
def test_watermarks_out_of_order_are_refused(high: int, low: int) -> None:
    with pytest.raises(GsmError) as refused:
        Watermarks(high, low)
    assert refused.value.reason is Reason.INVALID_INPUT


def test_a_file_that_two_attempts_want_is_reserved_once() -> None:
    assert outstanding([{A: 100, B: 7}, {A: 40}]) == 47


@pytest.mark.parametrize(
    ("used", "need", "others", "missing"),
    [
        pytest.param(50, 30, 0, 0, id="up to the watermark it fits"),
        pytest.param(50, 31, 0, 1, id="one byte more does not"),
        pytest.param(50, 20, 15, 5, id="what others have yet to write counts"),
        pytest.param(90, 0, 0, 10, id="above the watermark nothing fits"),
    ],
)
def test_room(used: int, need: int, others: int, missing: int) -> None:
    assert room(Usage(100, used), Watermarks(80, 70), need, others).missing == missing


@pytest.mark.parametrize(
    ("used", "others", "missing", "freed"),
    [
        pytest.param(80, 0, 0, 0, id="at the high watermark nothing goes"),
        pytest.param(81, 0, 0, 11, id="above it, down to the low one"),
        pytest.param(75, 10, 0, 15, id="running reservations count as used"),
        pytest.param(75, 0, 3, 5, id="a reservation collects down to the low watermark"),
        pytest.param(60, 0, 20, 20, id="a large reservation collects what it misses"),
    ],
)
def test_to_free(used: int, others: int, missing: int, freed: int) -> None:
    assert to_free(Usage(100, used), Watermarks(80, 70), others, missing) == freed


@given(st.integers(1, 10**15), st.integers(0, 10**15), st.integers(0, 10**14), st.integers(0, 10**14))
def test_what_is_freed_makes_room(total: int, used: int, need: int, others: int) -> None:
    usage, marks = Usage(total, min(used, total)), Watermarks()
    missing = room(usage, marks, need, others).missing
    freed = to_free(usage, marks, others, missing)
    assert room(Usage(total, usage.used - freed), marks, need, others).missing == 0


@pytest.mark.parametrize(
    ("kubelet", "high", "low", "notes"),
    [
        pytest.param(KubeletThresholds(), 80, 70, 0, id="kubelet's defaults leave 80"),
        pytest.param(
            KubeletThresholds(imagefs_available="25%"), 70, 60, 1, id="a percentage, rounded up, and five below"
        ),
        pytest.param(KubeletThresholds(nodefs_available=30 * GIB), 65, 55, 1, id="a quantity becomes a percentage"),
        pytest.param(
            KubeletThresholds(nodefs_available=100 * GIB), 80, 70, 1, id="a quantity as large as the disk is ignored"
        ),
        pytest.param(KubeletThresholds(image_gc_high_percent=60), 55, 45, 1, id="image collection caps too"),
        pytest.param(KubeletThresholds(nodefs_available="nonsense"), 80, 70, 1, id="what is no number is ignored"),
    ],
)
def test_kubelets_cap(kubelet: KubeletThresholds, high: int, low: int, notes: int) -> None:
    result = capped(Watermarks(80, 70), kubelet, 100 * GIB)
    assert (result.watermarks, len(result.notes)) == (Watermarks(high, low), notes)


@given(
    st.one_of(st.none(), st.text(max_size=6), st.integers(-(1 << 50), 1 << 50)),
    st.one_of(st.none(), st.integers(0, 100).map(lambda value: f"{value}%")),
    st.one_of(st.none(), st.integers(0, 100)),
)
def test_a_cap_is_always_a_pair_of_watermarks(
    nodefs: str | int | None, imagefs: str | int | None, images: int | None
) -> None:
    result = capped(Watermarks(), KubeletThresholds(nodefs, imagefs, images), 100 * GIB)
    assert 0 <= result.watermarks.low < result.watermarks.high <= 80
