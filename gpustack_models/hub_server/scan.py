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
    inside = os.path.join(os.path.realpath(root), "")  # noqa: PTH118 - Path drops the separator that ends the prefix
    for path, entry in _entries(str(root), "", found.skipped.__setitem__):
        key, problem = _look(path, entry, inside)
        if key:
            found.files[path] = key
        else:
            found.skipped[path] = problem
    return found


def _look(path: str, entry: os.DirEntry[str], inside: str) -> tuple[FileKey | None, str]:
    if problem := problem_of_path(path):
        return None, problem
    target = entry.path
    if entry.is_symlink():
        target = os.path.realpath(target)
        if not target.startswith(inside):
            return None, "a link that leaves the folder"
    try:
        status = entry.stat()
    except OSError:
        return None, "a link to nothing, or removed meanwhile"
    if not stat.S_ISREG(status.st_mode):
        return None, "a link to a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
    return FileKey(target, status.st_size, status.st_mtime_ns, status.st_ino), ""


def _entries(folder: str, prefix: str, skip: Callable[[str, str], None]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = prefix + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            # Bookkeeping is a folder or begins with a dot: most files need no closer look.
            if (is_folder or entry.name[0] == ".") and is_bookkeeping(path):
                continue
            if path == SETTINGS_FILE:
                continue
            if entry.name.endswith(_PARTIAL):
                skip(path, "an unfinished download")
            elif is_folder:
                yield from _entries(entry.path, path + "/", skip)
            else:
                yield path, entry
