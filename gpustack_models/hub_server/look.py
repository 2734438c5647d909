"""Owns one look at a repository on disk: what is there, before anything is read of it.

Refuses folders outside the repository.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpustack_models.errors import GsmError, Reason
from gpustack_models.hub_server.scan import Found, walk
from gpustack_models.hub_server.settings import SETTINGS_FILE, RepositorySettings, read_settings
from gpustack_models.hub_server.wire import FileKey

log = logging.getLogger("gpustack_models.hub_server")


@dataclass(frozen=True)
class Look:
    """What was on disk: a repository's settings, and the files of each of its commits' folders."""

    settings: RepositorySettings
    folders: Mapping[str, Found]

    def files(self) -> Iterator[FileKey]:
        """Every file."""
        return (key for found in self.folders.values() for key in found.files.values())


def is_repository(folder: Path) -> bool:
    """Whether a folder is a repository, and not the folder of an owner."""
    # An owner's folder holds folders only; a repository with the bare name of old has files of its own.
    if (folder / SETTINGS_FILE).is_file():
        return True
    return any(entry.is_file() and not entry.name.startswith(".") for entry in listed(folder))


def listed(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing, with a warning, when it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        # One folder that may not be read must not hide the others.
        log.warning("%s is not served: %s", folder, error.strerror)
        return []


def inside(folder: Path, root: Path) -> bool:
    """Whether a folder is a root or below it, links followed."""
    return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root))


def settings_of(folder: Path) -> RepositorySettings:
    """A repository's settings. Raises GsmError(InvalidInput)."""
    file = folder / SETTINGS_FILE
    return read_settings(file) if file.is_file() else RepositorySettings()


def look_at(folder: Path) -> Look:
    """Look at a repository's files; nothing is read of them. Raises GsmError(InvalidInput, StorageFailed)."""
    settings = settings_of(folder)
    folders: dict[str, Found] = {}
    for name in {commit.folder for commit in settings.commits} or {"."}:
        path = folder / name
        # A settings file may have come along with a download: it names its own repository's folders, no others.
        if not path.is_dir() or not inside(path, folder):
            raise GsmError(
                Reason.INVALID_INPUT,
                f"{folder / SETTINGS_FILE}: {name!r} is not a folder inside {folder}",
                hint="put each commit's files in a folder beside the settings file",
            )
        try:
            folders[name] = walk(path)
        except OSError as error:
            raise GsmError(Reason.STORAGE_FAILED, f"{error.filename} cannot be read: {error.strerror}") from None
    return Look(settings, folders)
