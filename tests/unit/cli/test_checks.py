"""Owns the formats of checks: what CI reads is well-formed whatever a name holds."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.cli.checks import Check, CheckFormat, Outcome, render

PASSED = Check("team-a/qwen", Outcome.PASSED, "sha256:00", file="a.yaml", line=3)
FAILED = Check("x", Outcome.FAILED, "100% wrong\nreally", "DigestMismatch", "do, this", "a,b:c.yaml", 9)
SKIPPED = Check("y", Outcome.SKIPPED, "no expectedDigest")


def test_table() -> None:
    assert render((PASSED, SKIPPED), CheckFormat.TABLE, suite="gsm") == (
        "passed   team-a/qwen  sha256:00\nskipped  y            no expectedDigest\n"
    )


def test_json_leaves_out_what_is_empty() -> None:
    assert json.loads(render((PASSED, SKIPPED), CheckFormat.JSON, suite="gsm")) == [
        {"name": "team-a/qwen", "outcome": "passed", "message": "sha256:00", "file": "a.yaml", "line": 3},
        {"name": "y", "outcome": "skipped", "message": "no expectedDigest"},
    ]


def test_github_annotates_failures_only_and_escapes_what_would_end_a_command() -> None:
    assert render((PASSED, FAILED), CheckFormat.GITHUB, suite="gsm") == (
        "::error file=a%2Cb%3Ac.yaml,line=9,title=DigestMismatch::x: 100%25 wrong%0Areally (do, this)\n"
        "1 passed, 1 failed\n"
    )


def test_junit() -> None:
    root = ElementTree.fromstring(render((PASSED, FAILED, SKIPPED), CheckFormat.JUNIT, suite="gsm verify"))
    suite = root[0]
    assert {key: suite.get(key) for key in ("name", "tests", "failures", "skipped")} == {
        "name": "gsm verify",
        "tests": "3",
        "failures": "1",
        "skipped": "1",
    }
    failure = suite[1].find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.text) == ("DigestMismatch", "do, this")
    assert suite[0].get("file") == "a.yaml"


_HOSTILE = st.text(st.characters())


@given(_HOSTILE, _HOSTILE, _HOSTILE)
def test_no_text_breaks_a_format(name: str, message: str, hint: str) -> None:
    checks = (Check(name, Outcome.FAILED, message, "R", hint, name, 1), Check(name, Outcome.SKIPPED, message))
    junit = ElementTree.fromstring(render(checks, CheckFormat.JUNIT, suite=name))
    assert len(junit[0]) == 2
    assert json.loads(render(checks, CheckFormat.JSON, suite=name))[0].get("message", "") == message
    assert len(render(checks, CheckFormat.GITHUB, suite=name).split("\n")) == 3
    for form in (CheckFormat.JSON, CheckFormat.GITHUB):
        assert render(checks, form, suite=name).replace("\n", "").isprintable()
    table = render(checks, CheckFormat.TABLE, suite=name)
    assert table.count("\n") == 2
    assert table.replace("\n", "").isprintable()
