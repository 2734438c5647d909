"""Owns printing what verifying a folder found, in each format of a check.

Refuses to compare; it is handed what was found.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpustack_models.cli.checks import Check, CheckFormat, Outcome, render
from gpustack_models.cli.output import Output, counted, size_text
from gpustack_models.core.verification import Finding, Problem, summary
from gpustack_models.errors import GsmError, Reason
from gpustack_models.workflows.digest import FolderDigest
from gpustack_models.workflows.verify import Verification

_SUITE = "gsm verify"


def show_folder(out: Output, path: Path, wanted: str, done: Verification, form: CheckFormat) -> list[GsmError]:
    """Print the findings; the errors that they amount to."""
    manifest = done.manifest
    what = "names and sizes match" if done.quick else "every byte matches"
    passed = f"{what}: {counted(manifest.file_count, 'file')}, {size_text(manifest.size)}, {manifest.digest}"
    if form is CheckFormat.JSON:
        out.json(_object(path, wanted, done))
    elif form is CheckFormat.TABLE and done.findings:
        out.table(("PROBLEM", "PATH", "EXPECTED", "FOUND"), [_row(finding) for finding in done.findings])
    else:
        checks = [_check(finding) for finding in done.findings] or [Check(str(path), Outcome.PASSED, passed)]
        out.data(render(checks, form, suite=_SUITE))
    if done.quick:
        out.note("only names and sizes were compared (--quick): a changed byte would not be seen")
    if done.passed:
        return []
    message = f"{path} is not what {wanted} names: {summary(done.findings)}"
    return [GsmError(Reason.REFUSED, message, hint="download the listed files again, and verify again")]


def show_digest(out: Output, path: Path, found: FolderDigest, expected: str, form: CheckFormat) -> list[GsmError]:
    """Print whether a folder has a digest; the error when it has another."""
    manifest = found.manifest
    errors = []
    if manifest.digest != expected:
        message = f"{path} has the digest {manifest.digest}, but {expected} is expected"
        hint = "a reference or --manifest, in place of --digest, shows which files differ"
        errors.append(GsmError(Reason.REFUSED, message, hint=hint))
    if form is CheckFormat.JSON:
        out.json(
            {
                "path": str(path),
                "passed": not errors,
                "expected": expected,
                "digest": manifest.digest,
                "fileCount": manifest.file_count,
                "sizeBytes": manifest.size,
                "algorithmsBy": found.rule.value,
            }
        )
    else:
        passed = (
            f"every byte matches: {counted(manifest.file_count, 'file')}, {size_text(manifest.size)}, {manifest.digest}"
        )
        check = (
            Check(str(path), Outcome.FAILED, errors[0].message, errors[0].reason.value, errors[0].hint)
            if errors
            else Check(str(path), Outcome.PASSED, passed)
        )
        out.data(render([check], form, suite=_SUITE))
    out.note(f"algorithms by {found.rule.value}")
    return errors


def _object(path: Path, wanted: str, done: Verification) -> dict[str, Any]:
    return {
        "path": str(path),
        "passed": done.passed,
        "expected": wanted,
        "quick": done.quick,
        "digest": done.manifest.digest,
        "fileCount": done.manifest.file_count,
        "sizeBytes": done.manifest.size,
        "findings": [
            {"path": each.path, "problem": each.problem.value, "expected": each.expected, "found": each.found}
            for each in done.findings
        ],
    }


def _row(finding: Finding) -> tuple[str, ...]:
    return finding.problem.value, finding.path, finding.expected, finding.found


def _check(finding: Finding) -> Check:
    found = f"expected {finding.expected}, found {finding.found}"
    message = {
        Problem.MISSING: f"missing; {finding.expected} bytes are expected",
        Problem.EXTRA: f"extra; it has {finding.found} bytes",
        Problem.WRONG_SIZE: f"wrong size: {found} bytes",
        Problem.WRONG_CONTENT: f"wrong content: {found}",
    }[finding.problem]
    return Check(finding.path, Outcome.FAILED, message, finding.problem.value)
