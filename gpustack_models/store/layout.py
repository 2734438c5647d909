"""Owns where things lie below the root of a store, and the layout's version.

Refuses a root that is not a store, an unknown version, folders on several filesystems, and links in place of folders.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from gpustack_models.core.manifest import Algorithm, FileDigest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.handles import TEMPORARY, Dir, storing

FORMAT_NAME = "format"
FORMAT = "gpustack-node-store 1"
LOCK = "lock"
MANIFEST = "manifest"
FILES = "files"
#: What lies in `trees/` while a tree is put together: no 64 hexadecimal digits, so no tree.
STAGING = ".staging-"
#: The end of a name in `trash/`: a tree that was found broken while somebody may still have it mounted.
WITHDRAWN = ".withdrawn"
FOLDERS = ("blobs", "trees", "partial", "trash", "ledger")
RECORDS = ("references", "pins", "uses", "failures", "attempts")
_INNER: dict[str, tuple[str, ...]] = {"blobs": tuple(map(str, Algorithm)), "ledger": RECORDS}

_HEX = re.compile(r"[0-9a-f]{64}")
#: What a folder may hold and still become a store: what a mount point or an interrupted creation leaves.
_EMPTY = re.compile(rf"lost\+found|{LOCK}|{re.escape(TEMPORARY)}.*")


@dataclass(frozen=True, slots=True)
class Root:
    """The open folders of one store (node-store.md, "On disk")."""

    path: Path
    top: Dir
    blobs: dict[Algorithm, Dir]
    trees: Dir
    partial: Dir
    trash: Dir
    ledger: Dir
    records: dict[str, Dir]

    @classmethod
    def open(cls, path: Path) -> Root:
        """Open a store.

        Raises GsmError(NotFound) when there is none, UnknownFormat for another version, StorageFailed.
        """
        path = path.absolute()
        with storing(f"the store {path} cannot be opened"):
            try:
                with Dir.at(str(path)) as top:
                    _check_format(top)
                    return cls._open(path, top)
            except FileNotFoundError as error:
                raise _no_store(path) from error

    @classmethod
    def _open(cls, path: Path, top: Dir) -> Root:
        with ExitStack() as opened:  # a store that is refused keeps no folder of it open

            def sub(folder: Dir, name: str) -> Dir:
                return opened.enter_context(folder.sub(name))

            blobs, trees, partial, trash, ledger = (sub(top, name) for name in FOLDERS)
            _one_filesystem(path, (blobs, trees, partial, trash))
            root = cls(
                path=path,
                top=opened.enter_context(top.again()),
                blobs={algorithm: sub(blobs, algorithm.value) for algorithm in Algorithm},
                trees=trees,
                partial=partial,
                trash=trash,
                ledger=ledger,
                records={name: sub(ledger, name) for name in RECORDS},
            )
            opened.pop_all()
            blobs.close()
            return root

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give every handle back."""
        single = (self.top, self.trees, self.partial, self.trash, self.ledger)
        for folder in (*single, *self.blobs.values(), *self.records.values()):
            folder.close()

    def files_of(self, digest: str) -> Path:
        """The path that the consumers of a tree mount or read."""
        return self.path / "trees" / tree_name(digest) / FILES


def create(path: Path) -> None:
    """Make what is missing of a store; a folder with anything else in it is refused.

    Raises GsmError(UnknownFormat) for another version or a folder that is not a store, StorageFailed.
    """
    with storing(f"the store {path} cannot be made"):
        path.mkdir(parents=True, exist_ok=True)
        with Dir.at(str(path)) as top:
            if top.stat(FORMAT_NAME) is None:
                _refuse_foreign(top)
                _make_folders(top)
                # Last: a root with this file is complete.
                top.write(FORMAT_NAME, f"{FORMAT}\n".encode())
            else:
                _check_format(top)
                if not _complete(top):
                    _make_folders(top)


def tree_name(digest: str) -> str:
    """The name in `trees/` of a manifest digest."""
    return digest.removeprefix("sha256:")


def digest_of(name: str) -> str | None:
    """The manifest digest that a name in `trees/` stands for, or None."""
    return f"sha256:{name}" if _HEX.fullmatch(name) else None


def blob_place(digest: FileDigest) -> tuple[Algorithm, str, str]:
    """Where a blob lies: its algorithm's folder, the bucket in it, the name in that."""
    return digest.algorithm, digest.hex[:2], digest.hex


def _complete(top: Dir) -> bool:
    # Whoever waits for the lock looks several times a second, and must not make the disk of the holder sync each time.
    if any(top.stat(name) is None for name in FOLDERS):
        return False
    for name, inner in _INNER.items():
        with top.sub(name) as folder:
            if any(folder.stat(each) is None for each in inner):
                return False
    return True


def _make_folders(top: Dir) -> None:
    for name, inner in _INNER.items():
        with top.make(name) as folder:
            for each in inner:
                folder.make(each).close()
            folder.sync()
    for name in ("trees", "partial", "trash"):
        top.make(name).close()
    top.sync()


def _check_format(top: Dir) -> None:
    try:
        text = top.read(FORMAT_NAME, 4096).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        _refuse_foreign(top)
        raise
    if text != FORMAT:
        raise GsmError(
            Reason.UNKNOWN_FORMAT,
            f"{top.path} has the layout {text[:80]!r}; this version knows {FORMAT!r} only",
            hint="use the version of gsm that wrote it, or another --root",
        )


def _refuse_foreign(top: Dir) -> None:
    if foreign := sorted(name for name in top.names() if name not in FOLDERS and not _EMPTY.fullmatch(name)):
        raise GsmError(
            Reason.UNKNOWN_FORMAT,
            f"{top.path} is not a node store, and not empty ({foreign[0]!r} is there)",
            hint="choose an empty folder, or one that holds a store, with --root",
        )


def _one_filesystem(path: Path, folders: tuple[Dir, ...]) -> None:
    if len({os.fstat(folder.fd).st_dev for folder in folders}) > 1:
        raise GsmError(
            Reason.STORAGE_FAILED,
            f"{path}: blobs, trees, partial and trash lie on several filesystems",
            hint="a tree is published by one rename of hard links; mount the whole root, not its folders",
        )


def _no_store(path: Path) -> GsmError:
    return GsmError(
        Reason.NOT_FOUND,
        f"there is no node store at {path}",
        hint="gsm node-store pull and import make one; --root or GSM_STORE names another place",
    )
