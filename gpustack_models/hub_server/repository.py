"""Owns a repository as a value: its commits, the names that point to them, and who may read it.

Refuses I/O; `catalog.py` reads a folder into one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from gpustack_models.hub_server.wire import Caller, FileKey

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHORT_COMMIT = re.compile(r"[0-9a-f]{7,39}")
#: The branch that each hub looks at when none is named; one of the two stands for the other when it is missing.
HUGGING_FACE_BRANCH = "main"
MODELSCOPE_BRANCH = "master"


class Access(StrEnum):
    """Who may read: everybody; only its readers; or everybody its listing, but only its readers the contents."""

    PUBLIC = "public"
    PRIVATE = "private"
    GATED = "gated"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a commit. `blob` is the git id of what git keeps: the content, or an LFS file's pointer."""

    path: str
    size: int
    sha256: str
    blob: str
    lfs: bool
    pointer_size: int
    key: FileKey

    @property
    def etag(self) -> str:
        """The content's name, unquoted: the SHA-256 of an LFS file, else the git blob id."""
        return self.sha256 if self.lfs else self.blob


@dataclass(frozen=True)
class Commit:
    """A commit: its files by path, and the git tree id of every folder (the root is the empty path)."""

    id: str
    files: Mapping[str, File]
    trees: Mapping[str, str]
    message: str
    seconds: int
    parents: tuple[str, ...] = ()

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """The paths right below each folder, sorted."""
        found: dict[str, list[str]] = {folder: [] for folder in self.trees}
        for path in (*self.files, *(folder for folder in self.trees if folder)):
            found[path.rpartition("/")[0]].append(path)
        return {folder: tuple(sorted(paths)) for folder, paths in found.items()}

    def below(self, folder: str, *, recursive: bool) -> tuple[str, ...]:
        """Files and folders below a folder, sorted by path; only its own children unless `recursive`."""
        if not recursive:
            return self.children[folder]
        everything = self.everything
        return tuple(path for path in everything if path.startswith(folder + "/")) if folder else everything

    @cached_property
    def everything(self) -> tuple[str, ...]:
        """Every file and folder, sorted by path."""
        return tuple(sorted((*self.files, *(folder for folder in self.trees if folder))))


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag: the commit it means, and the id it has itself (the tag object's when annotated, else the commit's)."""

    commit: str
    object: str


@dataclass(frozen=True)
class Settings:
    """Who may read a repository."""

    access: Access = Access.PUBLIC
    readers: frozenset[str] = frozenset()

    def lists_for(self, caller: Caller) -> bool:
        """Whether a caller may see that the repository is there, and its listing."""
        return self.access is not Access.PRIVATE or caller.name in self.readers

    def reads_for(self, caller: Caller) -> bool:
        """Whether a caller may read contents."""
        return self.access is Access.PUBLIC or caller.name in self.readers


@dataclass(frozen=True)
class Repository:
    """A repository as it is now."""

    name: str
    settings: Settings
    commits: Mapping[str, Commit]
    branches: Mapping[str, str]
    tags: Mapping[str, Tag] = field(default_factory=dict)
    pulls: Mapping[int, str] = field(default_factory=dict)

    def branches_at(self, default: str) -> dict[str, str]:
        """The branches under one hub's naming: its default branch stands for the other hub's when only that exists."""
        other = MODELSCOPE_BRANCH if default == HUGGING_FACE_BRANCH else HUGGING_FACE_BRANCH
        branches = dict(self.branches)
        if default not in branches and other in branches:
            branches[default] = branches.pop(other)
        return dict(sorted(branches.items()))

    def resolve(self, revision: str, default: str, *, short: bool = False) -> Commit | None:
        """The commit that a branch, tag (peeled), commit or, with `short`, abbreviated commit or `refs/…` names."""
        if _COMMIT.fullmatch(revision):
            return self.commits.get(revision)
        branches = self.branches_at(default)
        named = branches.get(revision) or (self.tags[revision].commit if revision in self.tags else None)
        if named is None and short:
            named = self._full_ref(revision, branches) or self._abbreviated(revision)
        return self.commits[named] if named else None

    def _full_ref(self, revision: str, branches: Mapping[str, str]) -> str | None:
        kind, _, name = revision.removeprefix("refs/").partition("/")
        if not revision.startswith("refs/"):
            return None
        if kind == "pr" and name.isdecimal():
            return self.pulls.get(int(name))
        if kind == "tags" and name in self.tags:
            return self.tags[name].commit
        return branches.get(name) if kind == "heads" else None

    def _abbreviated(self, revision: str) -> str | None:
        if not _SHORT_COMMIT.fullmatch(revision):
            return None
        found = [commit for commit in self.commits if commit.startswith(revision)]
        return found[0] if len(found) == 1 else None
