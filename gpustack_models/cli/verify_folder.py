"""Owns verifying one folder for `gsm verify`: what it is compared with, the progress, the status.

Refuses to read options; they come as one value.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpustack_models.cli import folders
from gpustack_models.cli.asking import Asking
from gpustack_models.cli.checks import CheckFormat
from gpustack_models.cli.output import Output
from gpustack_models.cli.results import conclude
from gpustack_models.cli.verify_show import show_digest, show_folder
from gpustack_models.core.patterns import Patterns
from gpustack_models.workflows.digest import digest_folder
from gpustack_models.workflows.verify import verify_folder


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a folder should be: a reference, a digest or a manifest's file, exactly one of them. `like` and `sha256` say
    how the algorithms are chosen when it is a digest.
    """

    reference: str | None
    digest: str | None
    manifest: str | None
    like: str | None = None
    sha256: bool = False


def verify_path(
    out: Output,
    ask: Asking,
    named: str,
    wanted: Wanted,
    patterns: Patterns | None,
    form: CheckFormat,
    *,
    quick: bool,
    threads: int | None,
) -> int:
    """Compare, print, and give the exit status: 0, or 1 when anything differs."""
    path = Path(folders.folder_of(named) or named)
    if wanted.digest:
        choose = folders.chooser(out, ask, wanted.like, wanted.sha256)
        with folders.hashing(out) as progress:
            found = digest_folder(path, choose, patterns, threads=threads, progress=progress)
        return conclude(out, show_digest(out, path, found, wanted.digest, form))
    name = wanted.manifest or wanted.reference or ""
    manifest = folders.manifest_like(out, ask, name, patterns, file=bool(wanted.manifest))
    with folders.hashing(out) as progress:
        done = verify_folder(path, manifest, patterns, quick=quick, threads=threads, progress=progress)
    return conclude(out, show_folder(out, path, name, done, form))
