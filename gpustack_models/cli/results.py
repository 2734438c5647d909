"""Owns how several results end as one: each failure is told, and the first one's status is the command's.

Refuses to hide a failure behind a success.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gpustack_models.cli.output import Output
from gpustack_models.errors import GsmError

if TYPE_CHECKING:
    from gpustack_models.workflows.questions import (
        Item,
    )  # it reads files and references; `gsm digest DIR` needs neither


def conclude(out: Output, results: Iterable[object]) -> int:
    """Tell every error on stderr, in the results' order; the status is the first one's, or 0."""
    errors = [result for result in results if isinstance(result, GsmError)]
    for error in errors:
        out.error(error)
    return errors[0].exit_status if errors else 0


def placed(item: Item | GsmError, result: object) -> object:
    """A result as it is; the error of an artifact of a file names the file, the line and the artifact first."""
    if isinstance(result, GsmError) and not isinstance(item, GsmError) and item.filed:
        message = f"{item.filed.name}: {result.message}"
        return GsmError(result.reason, message, hint=result.hint, retry_after=result.retry_after)
    return result


def error_object(error: GsmError) -> dict[str, Any]:
    """An error in a machine format."""
    return {"reason": error.reason.value, "message": error.message, "hint": error.hint, "retryable": error.retryable}
