"""Owns the ledger's records: there and back, and a clear refusal of everything else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.clock import Instant
from gpustack_models.store.records import Asked, Failure, Pin, Record, Reference, Use, decode, encode

NOW = Instant(1000.5, "boot", 12.25)
DIGEST = "sha256:" + "a" * 64
instants = st.builds(Instant, st.floats(0, 1e11), st.text(max_size=8), st.floats(0, 1e9))
texts = st.text(max_size=40)


@given(
    st.one_of(
        st.builds(Reference, texts, texts, texts, instants),
        st.builds(Pin, texts, instants, texts),
        st.builds(Use, texts, instants, instants, texts, st.lists(texts, max_size=3).map(tuple)),
        st.builds(Failure, texts, st.integers(0, 1000), st.sampled_from(Reason), texts, instants),
        st.builds(Asked, texts, st.integers(0, 1 << 40), instants),
    )
)
def test_there_and_back(record: Record) -> None:
    assert decode(encode(record), type(record), "x") == record  # type: ignore[type-var]


GOOD = json.loads(encode(Pin(DIGEST, NOW, "why")))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param({**GOOD, "format": 2}, Reason.UNKNOWN_FORMAT, id="a later format"),
        pytest.param({**GOOD, "format": "1"}, Reason.UNKNOWN_FORMAT, id="a format of another type"),
        pytest.param({key: GOOD[key] for key in GOOD if key != "format"}, Reason.STORAGE_FAILED, id="no format"),
        pytest.param({**GOOD, "kind": "use"}, Reason.STORAGE_FAILED, id="another kind"),
        pytest.param({**GOOD, "extra": 1}, Reason.STORAGE_FAILED, id="a field too many"),
        pytest.param({**GOOD, "note": 7}, Reason.STORAGE_FAILED, id="a field of another type"),
        pytest.param({**GOOD, "since": {"wall": 1}}, Reason.STORAGE_FAILED, id="half an instant"),
        pytest.param({**GOOD, "since": {**GOOD["since"], "wall": -1}}, Reason.STORAGE_FAILED, id="before all clocks"),
        pytest.param(
            {**GOOD, "since": {**GOOD["since"], "wall": 1e17}}, Reason.STORAGE_FAILED, id="after all calendars"
        ),
        pytest.param({**GOOD, "since": {**GOOD["since"], "wall": 10**400}}, Reason.STORAGE_FAILED, id="a huge number"),
        pytest.param({**GOOD, "since": {**GOOD["since"], "wall": float("nan")}}, Reason.STORAGE_FAILED, id="no number"),
        pytest.param(
            {**GOOD, "since": {**GOOD["since"], "uptime": True}}, Reason.STORAGE_FAILED, id="a truth as a time"
        ),
        pytest.param(b"[" * 60_000, Reason.STORAGE_FAILED, id="nested without end"),
        pytest.param([], Reason.STORAGE_FAILED, id="a list"),
        pytest.param(b"", Reason.STORAGE_FAILED, id="nothing"),
        pytest.param(b'{"format": 1, ', Reason.STORAGE_FAILED, id="half a record"),
        pytest.param(b"\xff\xfe", Reason.STORAGE_FAILED, id="no text"),
    ],
)
def test_refused(data: object, reason: Reason) -> None:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    with pytest.raises(GsmError) as refused:
        decode(raw, Pin, "pins/x")
    assert refused.value.reason is reason
    assert "pins/x" in refused.value.message


FAILED = json.loads(encode(Failure(DIGEST, 1, Reason.SOURCE_UNAVAILABLE, "why", NOW)))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"reason": "Nonsense"}, id="a reason that nobody knows"),
        pytest.param({"count": -1}, id="a negative count"),
        pytest.param({"count": 1 << 64}, id="a count beyond all failures"),
        pytest.param({"count": True}, id="a truth as a count"),
    ],
)
def test_a_failure_that_no_attempt_had_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(GsmError) as refused:
        decode(json.dumps({**FAILED, **change}).encode(), Failure, "failures/x")
    assert refused.value.reason is Reason.STORAGE_FAILED
