"""Owns the Link header, as hubs and others write it. Refuses to follow one."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.hubs.links import next_link

HEADERS = {
    "none": ("", None),
    "next": ('<https://hub/a?cursor=x>; rel="next"', "https://hub/a?cursor=x"),
    "relative": ('</a?b=1,2;3>; rel="next"', "/a?b=1,2;3"),
    "without quotes": ("<u>; rel=next", "u"),
    "in capitals": ('<u>; REL="NEXT"', "u"),
    "several words": ('<u>; rel="last next"', "u"),
    "with more attributes": ('<u>; title="a, b"; rel="next"; x=y', "u"),
    "the second of two": ('<first>; rel="first", <u>;rel="next"', "u"),
    "an attribute without a value": ('<u>; crossorigin; rel="next"', "u"),
    "no next": ('<u>; rel="prev"', None),
    "a word that only begins so": ('<u>; rel="nextpage"', None),
    "another attribute": ('<u>; notrel="next"', None),
    "no attribute": ("<u>", None),
}


@pytest.mark.parametrize(("header", "target"), HEADERS.values(), ids=HEADERS.keys())
def test_the_next_page(header: str, target: str | None) -> None:
    assert next_link(header) == target


@pytest.mark.parametrize("header", ["rubbish", "<u", "u>; rel=next", '<u> rel="next"', "<a>; rel=prev <b>; rel=next"])
def test_a_header_that_cannot_be_read_is_not_the_end_of_the_listing(header: str) -> None:
    with pytest.raises(ValueError, match="is not a link"):
        next_link(header)


@given(st.text(st.sampled_from('<>;,="relnxt \\'), max_size=60))
def test_any_header_ends(header: str) -> None:
    with contextlib.suppress(ValueError):
        target = next_link(header)
        assert target is None or f"<{target}>" in header
