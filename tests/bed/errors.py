"""Owns the bed's one error: what failed, and the next step.

Refuses tracebacks for what a person can mend: the command line prints one line of it.
"""

from __future__ import annotations


class BedError(Exception):
    """A bed that cannot do what was asked; ``hint`` is the command or the file that helps."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}: {self.hint}" if self.hint else self.message
