"""Owns the check for CI: every ModelArtifact of some files that has an expected digest must still resolve to it.

Refuses to pass over a file that cannot be read; it is a failure of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpustack_models.cli import asking, stdin
from gpustack_models.cli.asking import Asking
from gpustack_models.cli.checks import Check, CheckFormat, Outcome, render
from gpustack_models.cli.inputs import expanded
from gpustack_models.cli.output import Output
from gpustack_models.cli.results import conclude, placed
from gpustack_models.errors import GsmError
from gpustack_models.workflows.lookup import Found
from gpustack_models.workflows.questions import Item, of_file

_SUITE = "gsm verify"


def verify_artifacts(out: Output, ask: Asking, files: Sequence[str], form: CheckFormat) -> int:
    """Resolve what has an expected digest, print every check; the exit status is the first failure's, or 0."""
    read = [(file, item) for file in expanded(files) for item in of_file(file, stdin.once)]
    asked = [item for _, item in read if isinstance(item, GsmError) or item.expected]
    answers = iter(asking.look_up(out, asked, ask))
    results: list[object] = []
    checks: list[Check] = []
    for file, item in read:
        answer = None if isinstance(item, Item) and not item.expected else next(answers)
        checks.append(_check(file, item, answer))
        if isinstance(answer, GsmError):
            results.append(placed(item, answer))
    out.data(render(checks, form, suite=_SUITE))
    if not asked:
        out.warn(f"nothing was checked: no ModelArtifact with an expectedDigest in {', '.join(files)}")
    if len(asked) < len(read):
        out.note("what has no expectedDigest is pinned by gsm resolve -f FILE --write")
    return conclude(out, results)


def _check(file: str, item: Item | GsmError, answer: Found | GsmError | None) -> Check:
    filed = item.filed if isinstance(item, Item) else None
    name, line = (filed.name, filed.place.line) if filed else (file, 0)
    if isinstance(answer, GsmError):
        return Check(name, Outcome.FAILED, answer.message, answer.reason.value, answer.hint, file, line)
    if answer is None:
        return Check(name, Outcome.SKIPPED, "no expectedDigest", file=file, line=line)
    found = f"{answer.pinned} still has {item.expected if isinstance(item, Item) else ''}"
    return Check(name, Outcome.PASSED, found, file=file, line=line)
