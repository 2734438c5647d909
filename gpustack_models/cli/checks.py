"""Owns how the results of checks are written for people and for CI: table, JSON, GitHub annotations, JUnit.

Refuses to check anything, and to print; it gives text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from gpustack_models.cli.output import json_text, printable


class CheckFormat(StrEnum):
    """The formats of a check."""

    TABLE = "table"
    JSON = "json"
    GITHUB = "github"
    JUNIT = "junit"


class Outcome(StrEnum):
    """How one check ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was checked, where it is written (file and line, when it is), how it ended and why."""

    name: str
    outcome: Outcome
    message: str = ""
    reason: str = ""
    hint: str = ""
    file: str = ""
    line: int = 0


def render(checks: Sequence[Check], form: CheckFormat, *, suite: str) -> str:
    """The text of checks in a format; `suite` names the run."""
    return _RENDERERS[form](checks, suite)


def _table(checks: Sequence[Check], _suite: str) -> str:
    width = max((len(check.name) for check in checks), default=0)
    return "".join(
        printable(f"{check.outcome.value.ljust(7)}  {check.name.ljust(width)}  {_why(check)}".rstrip()) + "\n"
        for check in checks
    )


def _json(checks: Sequence[Check], _suite: str) -> str:
    kept = ({key: value for key, value in asdict(check).items() if value != "" and value != 0} for check in checks)
    return json_text(list(kept)) + "\n"


def _github(checks: Sequence[Check], _suite: str) -> str:
    # A workflow command is one line; what would end it, or a property of it, is percent-encoded.
    lines = []
    for check in checks:
        if check.outcome is Outcome.FAILED:
            places = {"file": check.file, "line": str(check.line or ""), "title": check.reason or "failed"}
            properties = ",".join(f"{key}={_property(value)}" for key, value in places.items() if value)
            text = f"{check.name}: {check.message}" + (f" ({check.hint})" if check.hint else "")
            lines.append(printable(f"::error {properties}::{_data(text)}") + "\n")
    counted = {outcome: sum(check.outcome is outcome for check in checks) for outcome in Outcome}
    return "".join(lines) + ", ".join(f"{count} {outcome}" for outcome, count in counted.items() if count) + "\n"


def _junit(checks: Sequence[Check], suite: str) -> str:
    failed = sum(check.outcome is Outcome.FAILED for check in checks)
    skipped = sum(check.outcome is Outcome.SKIPPED for check in checks)
    cases = "".join(_case(check, suite) for check in checks)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites><testsuite name={_attribute(suite)} tests="{len(checks)}" failures="{failed}" '
        f'errors="0" skipped="{skipped}">\n{cases}</testsuite></testsuites>\n'
    )


def _case(check: Check, suite: str) -> str:
    from xml.sax.saxutils import escape

    where = f" file={_attribute(check.file)}" if check.file else ""
    where += f' line="{check.line}"' if check.line else ""
    body = {
        Outcome.PASSED: "",
        Outcome.SKIPPED: f"<skipped message={_attribute(check.message)}/>",
        Outcome.FAILED: f"<failure type={_attribute(check.reason or 'failed')} message={_attribute(check.message)}>"
        f"{escape(_legal(check.hint))}</failure>",
    }[check.outcome]
    return f"  <testcase classname={_attribute(suite)} name={_attribute(check.name)}{where}>{body}</testcase>\n"


def _why(check: Check) -> str:
    return f"{check.reason}: {check.message}" if check.reason else check.message


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _attribute(text: str) -> str:
    from xml.sax.saxutils import quoteattr  # it loads half of urllib

    return quoteattr(_legal(text))


def _legal(text: str) -> str:
    # XML 1.0 has no way to write most control characters, nor a lone surrogate.
    return (
        "".join(
            letter if letter in "\t\n\r" or (letter >= " " and not "\ud800" <= letter <= "\udfff") else "\ufffd"
            for letter in text
        )
        .replace("\ufffe", "\ufffd")
        .replace("\uffff", "\ufffd")
    )


_RENDERERS: dict[CheckFormat, Callable[[Sequence[Check], str], str]] = {
    CheckFormat.TABLE: _table,
    CheckFormat.JSON: _json,
    CheckFormat.GITHUB: _github,
    CheckFormat.JUNIT: _junit,
}
