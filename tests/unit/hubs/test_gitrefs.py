"""Owns git's reference advertisement, whole and broken in every way. Refuses git itself: the bytes are its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.hubs.gitrefs import commit_named, refs_of

A, B, C, D = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)
SERVICE = "# service=git-upload-pack\n"


def line(text: str) -> bytes:
    raw = text.encode()
    return b"%04x" % (len(raw) + 4) + raw


def advertisement(*lines: str) -> bytes:
    first, *rest = lines
    body = line(first + "\0multi_ack side-band-64k agent=git/2\n") + b"".join(line(each + "\n") for each in rest)
    return line(SERVICE) + b"0000" + body + b"0000"


WHOLE = advertisement(
    f"{A} HEAD", f"{A} refs/heads/master", f"{B} refs/heads/v1", f"{C} refs/tags/v1", f"{D} refs/tags/v1^{{}}"
)


def test_every_reference_is_read() -> None:
    assert refs_of(WHOLE) == {
        "HEAD": A,
        "refs/heads/master": A,
        "refs/heads/v1": B,
        "refs/tags/v1": C,
        "refs/tags/v1^{}": D,
    }


def test_an_empty_repository_has_none() -> None:
    assert refs_of(advertisement(f"{'0' * 40} capabilities^{{}}")) == {}


def test_a_version_line_and_shallow_lines_are_no_references() -> None:
    body = line("version 1\n") + line(f"{A} HEAD\0caps\n") + line(f"shallow {B}\n")
    assert refs_of(line(SERVICE) + b"0000" + body + b"0000") == {"HEAD": A}


NAMED = {
    "a branch": ("master", A),
    "an annotated tag is peeled, and wins over a branch": ("v1", D),
    "an unknown one is nobody's, whatever HEAD is": ("mastre", None),
    "HEAD is no branch": ("HEAD", None),
    "a full name is no branch's": ("refs/heads/master", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("revision", "commit"), NAMED.values(), ids=NAMED.keys())
def test_the_commit_of_a_branch_or_tag(revision: str, commit: str | None) -> None:
    assert commit_named(refs_of(WHOLE), revision) == commit


def test_a_plain_tag_wins_over_a_branch_of_its_name() -> None:
    assert commit_named({"refs/tags/v1": A, "refs/heads/v1": B}, "v1") == A


BROKEN = {
    "nothing": b"",
    "another page": b"<html><body>Please log in</body></html>",
    "no service": b"0000" + line(f"{A} HEAD\0caps\n") + b"0000",
    "another service": WHOLE.replace(b"001e# service=git-upload-pack", b"001f# service=git-receive-pack"),
    "no flush after the service": line(SERVICE) + line(f"{A} HEAD\0caps\n") + b"0000",
    "no flush at the end": WHOLE[:-4],
    "cut off in a line": WHOLE[:-20],
    "cut off in a length": WHOLE[:-2],
    "words after the end": WHOLE + b"x",
    "lines after the end": WHOLE + line("x\n") + b"0000",
    "two flushes": WHOLE + b"0000",
    "a length that is none": WHOLE.replace(b"001e", b"00xe", 1),
    "a length with a sign": WHOLE.replace(b"001e", b"+01e", 1),
    "a length too short": line(SERVICE) + b"0000" + b"0003" + b"0000",
    "an empty line": line(SERVICE) + b"0000" + b"0004" + b"0000",
    "a length beyond git's": line(SERVICE) + b"0000" + b"fff1" + b"x" * 0xFFED + b"0000",
    "a delimiter": line(SERVICE) + b"0000" + b"0001" + b"0000",
    "a short object": advertisement("a" * 39 + " HEAD"),
    "an object in capitals": advertisement("A" * 40 + " HEAD"),
    "an object of another hash": advertisement("a" * 64 + " HEAD"),
    "no name": advertisement(A + " "),
    "a name with a space": advertisement(f"{A} refs/heads/a b"),
    "a name twice": advertisement(f"{A} refs/heads/a", f"{B} refs/heads/a"),
    "capabilities late": advertisement(f"{A} HEAD", f"{B} refs/heads/a\0caps"),
    "an error line": line(SERVICE) + b"0000" + line("ERR access denied\n") + b"0000",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_advertisement_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^(it|at|'|b'|\"|capabilities)") as caught:
        refs_of(data)
    assert len(str(caught.value)) < 200


@given(st.data())
def test_a_damaged_advertisement_never_names_another_commit(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(WHOLE) - 1))
    damaged = WHOLE[:at] + data.draw(st.binary(max_size=3)) + WHOLE[at + data.draw(st.integers(0, 3)) :]
    try:
        refs = refs_of(damaged)
    except ValueError:
        return
    # Lengths hold the lines together: what is still readable differs within one line, or is the same.
    assert len(refs) <= len(refs_of(WHOLE)) + 1
    assert all(len(commit) == 40 for commit in refs.values())
