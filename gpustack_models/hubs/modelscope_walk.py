"""Owns listing a ModelScope repository whole, though its API cuts every listing off at 3000 entries without a word.

Refuses a directory that cannot be listed whole, and an answer about another directory than the one asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from gpustack_models.core.manifest import MAX_ENTRIES, Algorithm, Entry, FileDigest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.answers import unreadable
from gpustack_models.hubs.protocol import ListingProgress

#: An answer of this many entries means "there may be more".
TRUNCATED_AT = 3000
MAX_REQUESTS = 5000


class RepoFile(msgspec.Struct, rename="pascal", gc=False):
    """One entry of a listing, a file or a folder, with its path from the repository's root."""

    type: str
    path: str
    size: int = 0
    sha256: str | None = None


#: Lists one directory (empty is the root): everything below it, or its direct children only.
Fetch = Callable[[str, bool], Sequence[RepoFile]]


def walk(
    fetch: Fetch, name: str, progress: ListingProgress | None = None, truncated_at: int = TRUNCATED_AT
) -> tuple[Entry, ...]:
    """Every file of a commit; only subtrees that are cut off are broken up (hubs.md, "ModelScope").

    Raises GsmError: InvalidManifest, ManifestTooLarge, SourceUnavailable (a directory of 3000 children or more, more
    than 5000 requests, an answer about another directory).
    """
    entries: list[Entry] = []
    requests = 0

    def ask(folder: str, recursive: bool) -> Sequence[RepoFile]:
        nonlocal requests
        requests += 1
        if requests > MAX_REQUESTS:
            raise GsmError(Reason.SOURCE_UNAVAILABLE, f"{name}: it takes more than {MAX_REQUESTS} requests to list")
        listed = fetch(folder, recursive)
        _check_places(listed, folder, recursive, name)
        return listed

    folders = [""]
    while folders:
        folder = folders.pop()
        listed = ask(folder, True)
        if len(listed) >= truncated_at:
            listed = ask(folder, False)
            if len(listed) >= truncated_at:
                raise GsmError(
                    Reason.SOURCE_UNAVAILABLE,
                    f"{name}: the directory {folder or '/'!r:.300} has {truncated_at} files and folders or more; "
                    "the hub's API cannot list it whole",
                )
            folders += [each.path for each in reversed(listed) if each.type == "tree"]
        entries += files_of(listed, name)
        if len(entries) > MAX_ENTRIES:
            raise GsmError(Reason.MANIFEST_TOO_LARGE, f"{name}: more than {MAX_ENTRIES} files; no more are taken")
        if progress:
            progress(len(entries))
    return tuple(entries)


def files_of(listed: Sequence[RepoFile], name: str) -> list[Entry]:
    """The files of one listing. Raises GsmError(InvalidManifest) for another type, or a file without its SHA-256."""
    sha256 = Algorithm.SHA256
    files = [
        Entry(each.path, each.size, FileDigest(sha256, digest))
        for each in listed
        if each.type == "blob" and (digest := each.sha256)
    ]
    if len(files) != len(listed):
        for each in listed:
            if each.type == "blob" and not each.sha256:
                raise GsmError(Reason.INVALID_MANIFEST, f"{name}: the hub gives no SHA-256 of {each.path!r:.300}")
            if each.type not in ("blob", "tree"):
                what = f"{each.path!r:.300} is of the unknown type {each.type!r:.40}"
                raise GsmError(Reason.INVALID_MANIFEST, f"{name}: {what}")
    return files


def _check_places(listed: Sequence[RepoFile], folder: str, recursive: bool, name: str) -> None:
    # Without this, a listing that names its own parent would be walked for ever.
    below = f"{folder}/" if folder else ""
    for each in listed:
        if not each.path.startswith(below) or (not recursive and "/" in each.path[len(below) :]):
            raise unreadable(name, f"asked for the directory {folder or '/'!r:.300}, it lists {each.path!r:.300}")
