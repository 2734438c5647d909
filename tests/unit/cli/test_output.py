"""Owns what printing must keep: data whole on stdout, talk on stderr, nothing of a hostile name on a terminal."""

from __future__ import annotations

import json

import pytest

from gpustack_models.cli.output import Output, json_text, report, size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1024 (1.0 KiB)"), (999604126, "999604126 (953.3 MiB)")],
    ids=lambda value: str(value),
)
def test_size_text(size: int, text: str) -> None:
    assert size_text(size) == text


def test_a_table_is_aligned_and_never_cut(capfd: pytest.CaptureFixture[str]) -> None:
    Output().table(("NAME", "DIGEST"), [("a", "x" * 300), ("longer", "y")])
    assert capfd.readouterr().out == f"NAME    DIGEST\na       {'x' * 300}\nlonger  y\n"


def test_json_is_safe_on_a_terminal_and_reads_back() -> None:
    value = {"路径": "a\x9b31m\u202eb\udcff é", "n": [1, "\n"]}
    text = json_text(value)
    assert "路径" in text
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == value


def test_quiet_keeps_warnings_and_errors(capfd: pytest.CaptureFixture[str]) -> None:
    out = Output(quiet=True)
    out.note("dropped")
    out.warn("kept")
    report("kept too", "next")
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == "warning: kept\nerror: kept too\nhint: next\n"


def test_a_hostile_name_cannot_write_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    report("file 'a\x1b]0;owned\x07b\u202e' is bad")
    assert capfd.readouterr().err == "error: file 'a?]0;owned?b?' is bad\n"


def test_progress_is_silent_off_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with Output().progress("hashing", 10) as advance:
        advance(10)
    assert capfd.readouterr() == ("", "")
