"""Owns what each answer to a request for bytes means, row by row.

Refuses sockets.
"""

from __future__ import annotations

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.transfer.answers import Asked, ThrottledError, judge

NOW = 1_800_000_000.0
WHOLE = Asked(0, 100, 100)
PART = Asked(40, 70, 100)
ELSEWHERE = Asked(0, 100, 100, at_home=False)

GIVEN = {
    "all of it": (WHOLE, 200, {"content-length": "100", "etag": '"a"'}, (0, 100, '"a"')),
    "all of it, no length": (WHOLE, 200, {}, (0, 100, "")),
    "a length that is no number": (WHOLE, 200, {"content-length": "x"}, (0, 100, "")),
    "the part": (PART, 206, {"content-range": "bytes 40-69/100", "etag": 'W/"b"'}, (40, 70, 'W/"b"')),
    "less of the part": (PART, 206, {"content-range": "bytes 40-49/100"}, (40, 50, "")),
    "the part of an unknown whole": (PART, 206, {"content-range": "bytes 40-69/*"}, (40, 70, "")),
    "all, the range ignored": (PART, 200, {"content-length": "100"}, (0, 100, "")),
    "the whole as a part": (WHOLE, 206, {"content-range": "bytes 0-99/100"}, (0, 100, "")),
    "not compressed, and says so": (WHOLE, 200, {"content-encoding": "identity"}, (0, 100, "")),
}


@pytest.mark.parametrize(("asked", "status", "headers", "given"), GIVEN.values(), ids=GIVEN)
def test_what_is_given(asked: Asked, status: int, headers: dict[str, str], given: tuple[int, int, str]) -> None:
    answer = judge(asked, status, headers, NOW)
    assert (answer.start, answer.end, answer.etag) == given


UNAVAILABLE, DENIED, MISMATCH = Reason.SOURCE_UNAVAILABLE, Reason.ACCESS_DENIED, Reason.INTEGRITY_MISMATCH
REFUSED = {
    "another length": (WHOLE, 200, {"content-length": "99"}, MISMATCH),
    "another length for the ignored range": (PART, 200, {"content-length": "30"}, MISMATCH),
    "another total": (PART, 206, {"content-range": "bytes 40-69/101"}, MISMATCH),
    "beyond the end": (PART, 416, {"content-range": "bytes */50"}, MISMATCH),
    "beyond the end of the right size": (PART, 416, {"content-range": "bytes */100"}, UNAVAILABLE),
    "beyond an unknown end": (PART, 416, {}, UNAVAILABLE),
    "another start": (PART, 206, {"content-range": "bytes 41-70/100"}, UNAVAILABLE),
    "a longer part": (PART, 206, {"content-range": "bytes 40-70/100"}, UNAVAILABLE),
    "an empty part": (PART, 206, {"content-range": "bytes 40-39/100"}, UNAVAILABLE),
    "a part that does not say which": (PART, 206, {}, UNAVAILABLE),
    "several parts": (PART, 206, {"content-type": "multipart/byteranges; boundary=x"}, UNAVAILABLE),
    "another unit": (PART, 206, {"content-range": "items 40-69/100"}, UNAVAILABLE),
    "numbers without an end": (PART, 206, {"content-range": f"bytes {'4' * 30}-69/100"}, UNAVAILABLE),
    "compressed": (WHOLE, 200, {"content-encoding": "gzip"}, UNAVAILABLE),
    "401": (WHOLE, 401, {}, DENIED),
    "403": (WHOLE, 403, {}, DENIED),
    "404": (WHOLE, 404, {}, DENIED),
    "403 of another host": (ELSEWHERE, 403, {}, UNAVAILABLE),
    "404 of another host": (ELSEWHERE, 404, {}, UNAVAILABLE),
    "400": (WHOLE, 400, {}, UNAVAILABLE),
    "429": (WHOLE, 429, {}, UNAVAILABLE),
    "500": (WHOLE, 500, {}, UNAVAILABLE),
    "503": (WHOLE, 503, {}, UNAVAILABLE),
    "204": (WHOLE, 204, {}, UNAVAILABLE),
    "304": (WHOLE, 304, {}, UNAVAILABLE),
}


@pytest.mark.parametrize(("asked", "status", "headers", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(asked: Asked, status: int, headers: dict[str, str], reason: Reason) -> None:
    with pytest.raises(GsmError) as caught:
        judge(asked, status, headers, NOW)
    assert caught.value.reason is reason


TOO_MUCH = {
    "429": (429, {"retry-after": "17"}, 17.0),
    "503": (503, {"retry-after": "0"}, 0.0),
    "429 by its rate limit": (429, {"ratelimit": '"api";r=0;t=55'}, 55.0),
    "503 without a word": (503, {}, None),
}


@pytest.mark.parametrize(("status", "headers", "seconds"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_who_is_asked_too_much_says_when_again(status: int, headers: dict[str, str], seconds: float | None) -> None:
    with pytest.raises(ThrottledError) as caught:
        judge(WHOLE, status, headers, NOW)
    assert caught.value.retry_after == seconds


def test_a_whole_file_is_asked_for_without_a_range() -> None:
    assert WHOLE.whole
    assert not PART.whole
    assert PART.range == "bytes=40-69"
