"""Owns when the next attempt is made. Refuses clocks: every instant is a number here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.pacing import asked_pause
from gpustack_models.hubs.pacing import LONGEST_WAIT, next_pause

NOW = 1_800_000_000.0
HERS = "Fri, 15 Jan 2027 09:00:00 GMT"

ASKED = {
    "seconds": (429, {"retry-after": "30"}, 30),
    "seconds of a 503": (503, {"retry-after": "5"}, 5),
    "no seconds": (429, {"retry-after": "0"}, 0),
    "a date": (429, {"retry-after": "Fri, 15 Jan 2027 08:01:30 GMT"}, 90),
    "a date, by the answer's own clock": (429, {"retry-after": "Fri, 15 Jan 2027 09:00:30 GMT", "date": HERS}, 30),
    "a date that has passed": (429, {"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0),
    "an absurd number": (429, {"retry-after": "999999999999"}, 86_400),
    "an absurd date": (429, {"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 86_400),
    "too many digits": (429, {"retry-after": "9" * 5000}, None),
    "negative": (429, {"retry-after": "-5"}, None),
    "words": (429, {"retry-after": "soon"}, None),
    "digits of another script": (429, {"retry-after": "٣"}, None),
    "the draft's rate limit": (429, {"ratelimit": '"api";r=0;t=55'}, 55),
    "the draft's rate limit, spaced": (429, {"ratelimit": "limit=100, r=0, t=7"}, 7),
    "a reset in seconds": (429, {"ratelimit-reset": "12"}, 12),
    "a reset as an instant": (429, {"x-ratelimit-reset": str(int(NOW) + 20)}, 20),
    "a reset that has passed": (429, {"x-ratelimit-reset": str(int(NOW) - 20)}, 0),
    "Retry-After before the rate limit": (429, {"retry-after": "3", "ratelimit": "r=0;t=55"}, 3),
    "rubbish before the rate limit": (429, {"retry-after": "x", "ratelimit": "r=0;t=55"}, 55),
    "a rate limit is for 429": (503, {"ratelimit": "r=0;t=55"}, None),
    "nothing": (429, {}, None),
    "not of a success": (200, {"retry-after": "30"}, None),
    "not of a refusal": (403, {"retry-after": "30"}, None),
}


@pytest.mark.parametrize(("status", "headers", "seconds"), ASKED.values(), ids=ASKED.keys())
def test_what_a_server_asks_for(status: int, headers: dict[str, str], seconds: float | None) -> None:
    assert asked_pause(status, headers, NOW) == seconds


@given(st.dictionaries(st.sampled_from(["retry-after", "ratelimit", "ratelimit-reset"]), st.text(max_size=20)))
def test_any_header_is_a_bounded_wish_or_none(headers: dict[str, str]) -> None:
    asked = asked_pause(429, headers, NOW)
    assert asked is None or 0 <= asked <= 86_400


PAUSES = {
    "half, without luck": (0, None, 0.0, None, 0.25),
    "whole, with luck": (0, None, 1.0, None, 0.5),
    "doubled": (3, None, 1.0, None, 4.0),
    "no more than eight seconds": (30, None, 1.0, None, 8.0),
    "what was asked, when longer": (0, 30.0, 0.0, None, 30.0),
    "a little more, so that not all come back at once": (0, 30.0, 1.0, None, 30.5),
    "our own, when what was asked is shorter": (3, 0.0, 1.0, None, 4.0),
    "a long wish is reported": (0, LONGEST_WAIT + 1, 0.0, None, None),
    "a long wish is honoured within the deadline": (0, 90.0, 0.0, 100.0, 90.0),
    "a wish beyond the deadline is reported": (0, 90.0, 0.0, 80.0, None),
    "our own beyond the deadline is not slept": (3, None, 1.0, 4.0, None),
    "after the deadline": (0, None, 0.0, -1.0, None),
}


@pytest.mark.parametrize(("attempt", "asked", "jitter", "left", "pause"), PAUSES.values(), ids=PAUSES.keys())
def test_pauses(attempt: int, asked: float | None, jitter: float, left: float | None, pause: float | None) -> None:
    assert next_pause(attempt, asked, jitter, left) == pause


@given(st.integers(0, 1000), st.none() | st.floats(0, 86_400), st.floats(0, 1), st.none() | st.floats(-10, 1000))
def test_a_pause_is_never_shorter_than_asked_nor_beyond_the_deadline(
    attempt: int, asked: float | None, jitter: float, left: float | None
) -> None:
    pause = next_pause(attempt, asked, jitter, left)
    if pause is not None:
        assert pause >= (asked or 0)
        assert left is None or pause < left
        assert pause > 0
