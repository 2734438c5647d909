"""Owns the comparison of a folder with a manifest: what is missing, extra, of a wrong size or content.

Refuses I/O; sizes and digests come in as values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpustack_models.core.manifest import FileDigest, Manifest


class Problem(StrEnum):
    """What is wrong with one path."""

    MISSING = "missing"
    EXTRA = "extra"
    WRONG_SIZE = "wrong size"
    WRONG_CONTENT = "wrong content"


@dataclass(frozen=True, slots=True)
class Finding:
    """One path that is not as the manifest says: sizes as decimal bytes, contents as `<algorithm>:<hex>`."""

    path: str
    problem: Problem
    expected: str = ""
    found: str = ""


def compare_sizes(manifest: Manifest, sizes: Mapping[str, int]) -> tuple[Finding, ...]:
    """Findings that need no byte read: missing, extra, wrong size; by path."""
    findings = [
        Finding(entry.path, Problem.MISSING, str(entry.size))
        if entry.path not in sizes
        else Finding(entry.path, Problem.WRONG_SIZE, str(entry.size), str(sizes[entry.path]))
        for entry in manifest.entries
        if sizes.get(entry.path) != entry.size
    ]
    named = {entry.path for entry in manifest.entries}
    findings += [Finding(path, Problem.EXTRA, "", str(size)) for path, size in sizes.items() if path not in named]
    return _ordered(findings)


def compare_contents(manifest: Manifest, digests: Mapping[str, FileDigest]) -> tuple[Finding, ...]:
    """Findings among the files that were hashed, each by its manifest's algorithm."""
    return _ordered(
        Finding(entry.path, Problem.WRONG_CONTENT, str(entry.digest), str(digests[entry.path]))
        for entry in manifest.entries
        if entry.path in digests and digests[entry.path] != entry.digest
    )


def joined(*parts: Collection[Finding]) -> tuple[Finding, ...]:
    """Several comparisons of one folder as one list, by path."""
    return _ordered(finding for part in parts for finding in part)


def summary(findings: Collection[Finding]) -> str:
    """How many of each problem there are, in words."""
    counts = {problem: sum(finding.problem is problem for finding in findings) for problem in Problem}
    return ", ".join(f"{count} {problem}" for problem, count in counts.items() if count)


def _ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.path.encode("utf-8", "surrogateescape")))
