"""Owns which files of a folder are a commit's: a walk that never leaves the folder.

Refuses links out of the folder, special files, names no hub can list, and what hub clients leave behind.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpustack_models.core.folder import is_bookkeeping
from gpustack_models.core.manifest import problem_of_path
from gpustack_models.hub_server.settings import SETTINGS_FILE
from gpustack_models.hub_server.wire import FileKey

#: What the hubs' clients call a file that they have not finished.
_PARTIAL = (".incomplete", ".parallel_tmp")


@dataclass(frozen=True, slots=True)
class Found:
    """A walk's result: every file to serve by its path below the root, and what was passed over and why."""

    files: dict[str, FileKey]
    skipped: dict[str, str]


def walk(root: Path) -> Found:
    """Look at every file below a folder. Raises OSError when a folder cannot be read."""
    found = Found({}, {})
    real = Path(os.path.realpath(root))
    for path, entry in _entries(root, "", found.skipped.__setitem__):
        if problem := problem_of_path(path):
            found.skipped[path] = problem
            continue
        target = Path(os.path.realpath(entry.path)) if entry.is_symlink() else Path(entry.path)
        if entry.is_symlink() and not target.is_relative_to(real):
            found.skipped[path] = "a link that leaves the folder"
            continue
        try:
            status = target.stat()
        except FileNotFoundError:
            found.skipped[path] = "a link to nothing, or removed meanwhile"
            continue
        if not stat.S_ISREG(status.st_mode):
            found.skipped[path] = "a link to a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            continue
        found.files[path] = FileKey(target, status.st_size, status.st_mtime_ns, status.st_ino)
    return found


def _entries(folder: Path, prefix: str, skip: Callable[[str, str], None]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = prefix + entry.name
            if path == SETTINGS_FILE or is_bookkeeping(path):
                continue
            if entry.name.endswith(_PARTIAL):
                skip(path, "an unfinished download")
            elif entry.is_dir(follow_symlinks=False):
                yield from _entries(Path(entry.path), path + "/", skip)
            else:
                yield path, entry
