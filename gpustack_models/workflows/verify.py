"""Owns verifying a folder against a manifest or a digest: every byte, or sizes alone when asked.

Refuses to change anything.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from gpustack_models.core.folder import Choice, Rule
from gpustack_models.core.manifest import Manifest
from gpustack_models.core.patterns import Patterns
from gpustack_models.core.verification import Finding, compare_contents, compare_sizes, joined
from gpustack_models.hubs import local
from gpustack_models.workflows.digest import Progress, hashed, kept


@dataclass(frozen=True, slots=True)
class Verification:
    """What was compared, and what was found. `quick` says that only names and sizes were looked at."""

    manifest: Manifest
    quick: bool
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether the folder is exactly what the manifest names."""
        return not self.findings


def verify_folder(
    root: Path,
    manifest: Manifest,
    patterns: Patterns | None = None,
    *,
    quick: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Compare a folder with a manifest; the patterns hold for both. Raises GsmError when the folder cannot be read."""
    wanted = Manifest.of(manifest.entries, patterns, name=str(root)) if patterns else manifest
    expected = {entry.path: entry for entry in wanted.entries}
    folder = kept(local.scan(root, named=expected.keys()), patterns)
    by_size = compare_sizes(wanted, {file.path: file.size for file in folder.files})
    if quick:
        return Verification(wanted, quick, by_size)
    settled = {finding.path for finding in by_size}
    files = tuple(file for file in folder.files if file.path not in settled)
    choice = Choice(Rule.LIKE, {path: entry.digest.algorithm for path, entry in expected.items()})
    digests = {entry.path: entry.digest for entry in hashed(root, files, choice, threads, progress)}
    return Verification(wanted, quick, joined(by_size, compare_contents(wanted, digests)))


def counts(findings: Collection[Finding]) -> dict[str, int]:
    """How many findings there are of each problem."""
    found: dict[str, int] = {}
    for finding in findings:
        found[finding.problem.value] = found.get(finding.problem.value, 0) + 1
    return found
