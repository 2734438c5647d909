"""Owns how folders become commits: which files are LFS, their hashes, and the git ids of it all.

Refuses to guess a time or an author: the same files are the same commit on any machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpustack_models.core.gitattributes import lfs_paths, lfs_paths_of
from gpustack_models.core.gitobjects import Signature, blob_id, commit_id, lfs_pointer, tag_id, tree_ids
from gpustack_models.core.manifest import Algorithm
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hub_server.repository import HUGGING_FACE_BRANCH, Commit, File, Repository, Settings, Tag
from gpustack_models.hub_server.scan import Found
from gpustack_models.hub_server.settings import CommitSettings, RepositorySettings, TagSettings
from gpustack_models.hub_server.wire import FileKey
from gpustack_models.store.hashing import BOTH, HashJob, hash_files

#: Without any `.gitattributes`, these names are LFS files, and so is every file from LARGE bytes on.
WEIGHTS = """
*.7z *.arrow *.bin *.bz2 *.ckpt *.ftz *.gguf *.gz *.h5 *.joblib *.lfs.* *.mlmodel *.model *.msgpack *.npy *.npz *.onnx
*.ot *.parquet *.pb *.pickle *.pkl *.pt *.pth *.rar *.safetensors saved_model/**/* *.tar.* *.tar *.tflite *.tgz *.wasm
*.xz *.zip *.zst *tfevents*
"""
LARGE = 10 << 20

_AUTHOR = ("local hub", "hub@localhost")
#: 2024-01-01T00:00:00Z: commits are a day apart from here on, in the order of the settings file.
_EPOCH = 1_704_067_200
_DAY = 86_400
_ATTRIBUTES = ".gitattributes"
_MAX_ATTRIBUTES = 1 << 20
_POINTER = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class _Hashes:
    sha256: str
    blob: str = ""


class HashCache:
    """What each file's content hashes to, for as long as its path, size, time and inode stay. Thread-safe.

    A need is whether the content's own git blob id is wanted too: not for an LFS file, of which git keeps a pointer.
    """

    def __init__(self) -> None:
        self._known: dict[FileKey, _Hashes] = {}
        self._lock = threading.Lock()

    def missing(self, needs: Mapping[FileKey, bool]) -> dict[FileKey, bool]:
        """The needs that are not met yet, by path."""
        with self._lock:
            missing = {
                key: blob for key, blob in needs.items() if key not in self._known or blob > bool(self._known[key].blob)
            }
        return dict(sorted(missing.items(), key=lambda item: item[0].path))

    def add(self, needs: Mapping[FileKey, bool], progress: Callable[[int], None], stop: threading.Event) -> None:
        """Hash files, given by absolute paths. Raises GsmError: SourceUnavailable for one that went away meanwhile,
        StorageFailed, Canceled.
        """
        missing = self.missing(needs)
        jobs = [HashJob(key.path, BOTH if blob else (Algorithm.SHA256,)) for key, blob in missing.items()]
        try:
            # The root plays no part below absolute paths.
            results = hash_files(jobs, Path("/"), progress=progress, stop=stop)
        except GsmError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            raise GsmError(Reason.SOURCE_UNAVAILABLE, error.message, hint="ask again", retry_after=1) from error
        for key, hashed in zip(missing, results, strict=True):
            if hashed.size != key.size:
                raise GsmError(Reason.STORAGE_FAILED, f"{key.path} changed while it was read")
            with self._lock:
                self._known[key] = _Hashes(*(digest.hex for digest in hashed.digests))

    def forget(self, keys: Iterable[FileKey]) -> None:
        """Hash these again when they are needed next."""
        with self._lock:
            for key in keys:
                self._known.pop(key, None)

    def __getitem__(self, key: FileKey) -> _Hashes:
        with self._lock:
            return self._known[key]


def needs(folders: Mapping[str, Found]) -> dict[FileKey, bool]:
    """Which files have to be hashed for `build`, and of which the git blob id is needed too."""
    wanted: dict[FileKey, bool] = {}
    for found in folders.values():
        is_lfs = _rule(found)
        for path, key in found.files.items():
            wanted[key] = wanted.get(key, False) or not is_lfs(path, key.size)
    return wanted


def build(name: str, settings: RepositorySettings, folders: Mapping[str, Found], hashes: HashCache) -> Repository:
    """A repository from its settings and the files of each folder, all of them hashed.

    Without commits in the settings, the one folder is the one commit. Raises GsmError(InvalidInput, StorageFailed).
    """
    listed = settings.commits or (CommitSettings(folder="."),)
    ids: dict[str, str] = {}
    commits: dict[str, Commit] = {}
    for number, wanted in enumerate(listed, 1):
        parents = tuple(ids.values())[-1:]
        commit = _commit(name, wanted, folders[wanted.folder], hashes, parents, _EPOCH + number * _DAY)
        ids[wanted.name or str(number)] = commit.id
        commits[commit.id] = commit
    last = next(reversed(ids))
    branches = settings.branches or {HUGGING_FACE_BRANCH: last}
    return Repository(
        name=name,
        settings=Settings(settings.access, frozenset(settings.readers)),
        commits=commits,
        branches={branch: ids[named] for branch, named in branches.items()},
        tags={tag: _tag(tag, wanted, ids, commits) for tag, wanted in settings.tags.items()},
        pulls={number: ids[named] for number, named in settings.pull_requests.items()},
    )


def _commit(
    name: str, wanted: CommitSettings, found: Found, hashes: HashCache, parents: tuple[str, ...], seconds: int
) -> Commit:
    is_lfs = _rule(found)
    files = {path: _file(name, path, key, hashes[key], is_lfs) for path, key in sorted(found.files.items())}
    trees = tree_ids({path: file.blob for path, file in files.items()})
    oid = commit_id(trees[""], Signature(*_AUTHOR, seconds), wanted.message, parents)
    return Commit(oid, files, trees, wanted.message, seconds, parents)


def _tag(tag: str, wanted: str | TagSettings, ids: Mapping[str, str], commits: Mapping[str, Commit]) -> Tag:
    if isinstance(wanted, str):
        return Tag(ids[wanted], ids[wanted])
    commit = commits[ids[wanted.commit]]
    return Tag(commit.id, tag_id(tag, commit.id, Signature(*_AUTHOR, commit.seconds), wanted.message))


def _file(name: str, path: str, key: FileKey, hashes: _Hashes, is_lfs: Callable[[str, int], bool]) -> File:
    if not is_lfs(path, key.size):
        return File(path, key.size, hashes.sha256, hashes.blob, False, 0, key)
    if key.size < 1024 and _read(key, 1024).startswith(_POINTER):
        raise GsmError(
            Reason.INVALID_INPUT,
            f"{name}: {path} is a git LFS pointer, not its content",
            hint=f"git lfs pull in {Path(key.path).parent}",
        )
    pointer = lfs_pointer(hashes.sha256, key.size)
    return File(path, key.size, hashes.sha256, blob_id(pointer), True, len(pointer), key)


def _rule(found: Found) -> Callable[[str, int], bool]:
    """Which files are LFS: by the folder's own `.gitattributes` files, or by WEIGHTS and LARGE when it has none."""
    texts = [
        (path.rpartition("/")[0], _read(key, _MAX_ATTRIBUTES).decode("utf-8", "surrogateescape"))
        for path, key in found.files.items()
        if path.rpartition("/")[2] == _ATTRIBUTES
    ]
    if texts:
        by_rules = lfs_paths_of(texts)
        return lambda path, _size: by_rules(path)
    by_name = lfs_paths("\n".join(f"{pattern} filter=lfs" for pattern in WEIGHTS.split()))
    return lambda path, size: size >= LARGE or by_name(path)


def _read(key: FileKey, limit: int) -> bytes:
    try:
        with open(key.path, "rb") as file:
            return file.read(limit)
    except OSError as error:
        raise GsmError(Reason.STORAGE_FAILED, f"{key.path} cannot be read: {error.strerror}") from None
