"""Owns reading a folder on this machine: its files, and what git and the hubs' clients left there about them.

Refuses links that lead out of the folder (but those of a Hugging Face cache to its own blobs), and what is no file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from gpustack_models.core.folder import Folder, LocalFile, is_bookkeeping
from gpustack_models.errors import GsmError, Reason

_ATTRIBUTES = ".gitattributes"
_RECORDS = (".cache", "huggingface", "download")
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
#: A pointer is a few lines; git-lfs itself never reads further (git-lfs specification, "The Pointer").
_MAX_POINTER = 1024
_MAX_RECORD = 4096
_MAX_ATTRIBUTES = 1 << 20


def scan(root: Path, *, named: Collection[str] = ()) -> Folder:
    """Read a folder's names and sizes, and its own notes; no content is read.

    `named` are paths to take even when they look like a client's bookkeeping (a repository may hold such a file).
    Raises GsmError(NotFound, InvalidInput, StorageFailed).
    """
    try:
        real = root.resolve()
        if not real.exists():
            raise GsmError(Reason.NOT_FOUND, f"{root} does not exist")
        if not real.is_dir():
            raise GsmError(Reason.INVALID_INPUT, f"{root} is not a directory")
        _refuse_cache_root(root, real)
        files = tuple(sorted(_walk(real, frozenset(named)), key=lambda file: os.fsencode(file.path)))
        attributes = tuple(_attributes(real, files))
        return Folder(
            name=str(root),
            files=files,
            attributes=attributes,
            recorded=dict(_recorded(real, files)),
            modelscope=_is_modelscope(real),
            # Only git leaves pointers, and what it checked out has rules; other folders are spared the look.
            pointers=frozenset(file.path for file in files if attributes and _is_pointer(real, file)),
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise GsmError(Reason.NOT_FOUND, f"{root} does not exist, or changes while it is read") from error
    except OSError as error:
        raise GsmError(Reason.STORAGE_FAILED, f"{error.filename or root} cannot be read: {error.strerror}") from error


def _walk(root: Path, named: frozenset[str]) -> Iterator[LocalFile]:
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if path in named or not is_bookkeeping(path):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    else:
                        yield _file(root, path, entry)
                elif entry.is_dir(follow_symlinks=False):
                    folders += [path] if any(name.startswith(f"{path}/") for name in named) else []


def _file(root: Path, path: str, entry: os.DirEntry[str]) -> LocalFile:
    if entry.is_symlink():
        return _linked(root, path)
    found = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        raise GsmError(Reason.INVALID_INPUT, f"{root / path} is neither a file nor a folder", hint="remove it")
    return LocalFile(path, found.st_size, path)


def _linked(root: Path, path: str) -> LocalFile:
    target = Path(os.path.realpath(root / path))
    blobs = root.parent.parent / "blobs"
    in_cache = root.parent.name == "snapshots" and target.parent == blobs
    if not in_cache and not target.is_relative_to(root):
        raise GsmError(
            Reason.INVALID_INPUT,
            f"{root / path} is a link that leads out of the folder, to {target}",
            hint="put the file itself in its place; only links to a Hugging Face cache's own blobs are followed",
        )
    try:
        found = target.stat()
    except FileNotFoundError:
        raise GsmError(
            Reason.NOT_FOUND, f"{root / path} is a link to {target}, which does not exist", hint="download it again"
        ) from None
    if not stat.S_ISREG(found.st_mode):
        raise GsmError(Reason.INVALID_INPUT, f"{root / path} is a link to {target}, which is not a file")
    return LocalFile(path, found.st_size, os.path.relpath(target, root), target.name if in_cache else "")


def _attributes(root: Path, files: tuple[LocalFile, ...]) -> Iterator[tuple[str, str]]:
    for file in files:
        folder, _, name = file.path.rpartition("/")
        if name == _ATTRIBUTES:
            yield folder, _head(root / file.source, _MAX_ATTRIBUTES).decode("utf-8", "surrogateescape")


def _recorded(root: Path, files: tuple[LocalFile, ...]) -> Iterator[tuple[str, str]]:
    # `hf download --local-dir` notes a commit, an entity tag and a time, one a line, for each file it wrote.
    records = root.joinpath(*_RECORDS)
    if not records.is_dir():
        return
    for file in files:
        try:
            lines = _head(records / f"{file.path}.metadata", _MAX_RECORD).decode("ascii", "replace").splitlines()
        except (FileNotFoundError, NotADirectoryError):
            continue
        if len(lines) >= 2:
            yield file.path, lines[1]


def _is_modelscope(root: Path) -> bool:
    # Its client wrote `.msc` until 1.3x; newer ones keep models/<owner>--<name>/snapshots/<revision> and no file.
    snapshots, repository = root.parent, root.parent.parent
    cached = snapshots.name == "snapshots" and "--" in repository.name and repository.parent.name == "models"
    return cached or (root / ".msc").exists()


def _is_pointer(root: Path, file: LocalFile) -> bool:
    return len(_POINTER) < file.size < _MAX_POINTER and _head(root / file.source, len(_POINTER)) == _POINTER


def _head(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        return file.read(limit)


def _refuse_cache_root(root: Path, real: Path) -> None:
    snapshots = real / "snapshots"
    if (real / "blobs").is_dir() and snapshots.is_dir():
        one = next(iter(sorted(os.listdir(snapshots))), "<commit>")  # noqa: PTH208
        raise GsmError(
            Reason.INVALID_INPUT,
            f"{root} is a Hugging Face cache of a repository, with a folder for each commit",
            hint=f"name one of them: {root / 'snapshots' / one}",
        )
