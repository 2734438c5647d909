"""Owns the file patterns of an artifact: which paths an allow and an ignore list keep, and the lists' limits.

Refuses lists and patterns beyond the limits; knows nothing of manifests.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpustack_models.errors import GsmError, Reason

MAX_PATTERNS = 32
MAX_PATTERN_LENGTH = 256


@dataclass(frozen=True, slots=True)
class Patterns:
    """The two lists of a ModelArtifact (model-artifact.md, "The resource").

    Python's `fnmatch.fnmatchcase`: case-sensitive, `*` and `?` cross `/`, a trailing `/` means everything
    under it, an empty allow list keeps every file, and an ignored file is dropped even when allowed.
    Raises GsmError(InvalidInput) when a list has more than 32 patterns or a pattern is not 1 to 256 characters.
    """

    allow: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field, patterns in (("allowPatterns", self.allow), ("ignorePatterns", self.ignore)):
            if problem := problem_of(patterns):
                raise GsmError(Reason.INVALID_INPUT, f"{field}: {problem}")

    def __bool__(self) -> bool:
        return bool(self.allow or self.ignore)

    def keeps(self) -> Callable[[str], bool]:
        """A predicate over paths, compiled once: True for a path the two lists keep."""
        allowed, ignored = _matcher(self.allow), _matcher(self.ignore)
        if allowed is None and ignored is None:
            return lambda _path: True
        return lambda path: (
            (allowed is None or allowed(path) is not None) and (ignored is None or ignored(path) is None)
        )

    def keep(self, paths: Iterable[str]) -> list[str]:
        """The kept paths, in the given order."""
        return list(filter(self.keeps(), paths))


def problem_of(patterns: tuple[str, ...]) -> str:
    """What is wrong with one list, or an empty string (limits: 32 patterns of 1 to 256 characters)."""
    if len(patterns) > MAX_PATTERNS:
        return f"{len(patterns)} patterns; at most {MAX_PATTERNS} are taken"
    for index, pattern in enumerate(patterns):
        if not 1 <= len(pattern) <= MAX_PATTERN_LENGTH:
            return f"pattern {index} has {len(pattern)} characters; 1 to {MAX_PATTERN_LENGTH} are taken"
    return ""


def _matcher(patterns: tuple[str, ...]) -> Callable[[str], re.Match[str] | None] | None:
    # One alternation: a listing of 100,000 paths is matched once per path, not once per pattern.
    if not patterns:
        return None
    expanded = (pattern + "*" if pattern.endswith("/") else pattern for pattern in patterns)
    return re.compile("|".join(f"(?:{fnmatch.translate(pattern)})" for pattern in expanded)).match
