"""Owns git's object ids and the LFS pointer, computed from plain values: blob, tree, commit, annotated tag.

Refuses I/O: whoever reads a file's bytes hashes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpustack_models.core.manifest import git_blob_header

_FILE = b"100644"
_FOLDER = b"40000"


@dataclass(frozen=True, slots=True)
class Signature:
    """Who made a commit or a tag, and when: seconds since the epoch, UTC."""

    name: str
    email: str
    seconds: int

    def __str__(self) -> str:
        return f"{self.name} <{self.email}> {self.seconds} +0000"


def blob_id(content: bytes) -> str:
    """The id of a file's content: 40 lowercase hex."""
    return hashlib.sha1(git_blob_header(len(content)) + content, usedforsecurity=False).hexdigest()


def lfs_pointer(sha256: str, size: int) -> bytes:
    """What git keeps in place of an LFS file of `size` bytes (git-lfs pointer, version 1)."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


def tree_ids(blobs: Mapping[str, str]) -> dict[str, str]:
    """The tree id of every folder, from the blob ids of all files by path; the root is the empty path.

    Every file has the mode 100644. Paths are plain and relative; bytes that are not UTF-8 are surrogate-escaped.
    """
    folders: dict[str, list[tuple[bytes, bytes, str]]] = {"": []}
    for path, blob in blobs.items():
        folder, name = _split(path)
        _known(folders, folder).append((_FILE, name, blob))
    ids: dict[str, str] = {}
    # Deepest first, so that a folder's id is there when its parent needs it.
    for folder in sorted(folders, key=lambda path: (-path.count("/") if path else 1, path)):
        ids[folder] = _tree_id(folders[folder])
        if folder:
            parent, name = _split(folder)
            folders[parent].append((_FOLDER, name, ids[folder]))
    return ids


def commit_id(tree: str, signature: Signature, message: str, parents: Iterable[str] = ()) -> str:
    """The id of a commit of one author, who is also its committer."""
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {signature}", f"committer {signature}", "", message]
    return _object_id("commit", ("\n".join(lines) + "\n").encode())


def tag_id(name: str, commit: str, signature: Signature, message: str) -> str:
    """The id of an annotated tag object that points to a commit."""
    lines = [f"object {commit}", "type commit", f"tag {name}", f"tagger {signature}", "", message]
    return _object_id("tag", ("\n".join(lines) + "\n").encode())


def _known(folders: dict[str, list[tuple[bytes, bytes, str]]], folder: str) -> list[tuple[bytes, bytes, str]]:
    above = folder
    while above not in folders:
        folders[above] = []
        above = _split(above)[0]
    return folders[folder]


def _split(path: str) -> tuple[str, bytes]:
    folder, _, name = path.rpartition("/")
    return folder, name.encode("utf-8", "surrogateescape")


def _tree_id(entries: list[tuple[bytes, bytes, str]]) -> str:
    # git sorts a folder as if its name ended in a slash.
    ordered = sorted(entries, key=lambda entry: entry[1] + b"/" if entry[0] == _FOLDER else entry[1])
    content = b"".join(b"%s %s\0" % (mode, name) + bytes.fromhex(oid) for mode, name, oid in ordered)
    return _object_id("tree", content)


def _object_id(kind: str, content: bytes) -> str:
    header = f"{kind} {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
