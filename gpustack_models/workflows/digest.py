"""Owns the digest of a folder on disk: scan it, learn each file's algorithm, hash, make the manifest.

Refuses to guess an algorithm; the core says what told it, or the choices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gpustack_models.core.folder import Choice, Folder, LocalFile, Rule
from gpustack_models.core.manifest import Entry, Manifest
from gpustack_models.core.patterns import Patterns
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs import local
from gpustack_models.store.hashing import HashJob, hash_files

#: Called with the bytes to hash, before any is read; gives what is called with the bytes hashed since the last call.
Progress = Callable[[int], Callable[[int], None]]


@dataclass(frozen=True, slots=True)
class FolderDigest:
    """The manifest of a folder's content, and what told the algorithm of each file."""

    manifest: Manifest
    rule: Rule


def digest_folder(
    root: Path,
    choose: Callable[[Folder], Choice],
    patterns: Patterns | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> FolderDigest:
    """Hash every kept file of a folder. Raises GsmError(NotFound, InvalidInput, StorageFailed, EmptyManifest, …)."""
    folder = kept(local.scan(root), patterns)
    if not folder.files:
        why = "the patterns keep no file" if patterns else "it holds no file"
        raise GsmError(Reason.EMPTY_MANIFEST, f"{root}: {why}")
    choice = choose(folder)
    manifest = Manifest.of(hashed(root, folder.files, choice, threads, progress), name=str(root))
    return FolderDigest(manifest, choice.rule)


def kept(folder: Folder, patterns: Patterns | None) -> Folder:
    """The folder without the files that the patterns drop."""
    if not patterns:
        return folder
    keeps = patterns.keeps()
    return replace(folder, files=tuple(file for file in folder.files if keeps(file.path)))


def hashed(
    root: Path, files: tuple[LocalFile, ...], choice: Choice, threads: int | None, progress: Progress | None
) -> list[Entry]:
    """The entries of files, each by its algorithm."""
    jobs = [HashJob(file.source, (choice.algorithms[file.path],)) for file in files]
    advance = progress(sum(file.size for file in files)) if progress else None
    results = hash_files(jobs, root, threads=threads, progress=advance)
    return [Entry(file.path, result.size, result.digests[0]) for file, result in zip(files, results, strict=True)]
