"""Owns what a folder of model files tells of itself: its files, and which digest each of them is named by.

Refuses to guess: where nothing tells, it says so and shows what would.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gpustack_models.core import gitattributes
from gpustack_models.core.manifest import Algorithm, Manifest
from gpustack_models.errors import GsmError, Reason

#: What clients and git keep beside a model's files, as (first segments of the path, what writes it). Never content.
BOOKKEEPING: tuple[tuple[str, ...], ...] = (
    (".cache", "huggingface"),  # hf download --local-dir
    ("._____temp",),  # modelscope download
    (".msc",),
    (".mv",),
    (".mdl",),
)
_ALGORITHM_OF_LENGTH = {algorithm.hex_length: algorithm for algorithm in Algorithm}
_HEX = re.compile(r"[0-9a-f]+")

CHOICES = "say which: --like REF|FILE (a reference, a manifest or a saved listing), or --sha256 (ModelScope's rule)"


class Rule(StrEnum):
    """What told the algorithm of each file of a folder."""

    LIKE = "the given listing"
    SHA256 = "sha256 for every file, as asked"
    HF_CACHE = "the blob names of the Hugging Face cache"
    HF_RECORD = "what hf download recorded in .cache/huggingface"
    MODELSCOPE = "the mark of modelscope download: sha256 for every file"
    GITATTRIBUTES = "the LFS rules of .gitattributes, as Hugging Face names files (ModelScope's digest: --sha256)"


@dataclass(frozen=True, slots=True)
class LocalFile:
    """One file: its path below the root, its size in bytes, where its bytes are, and the cache blob it links to."""

    path: str
    size: int
    source: str
    blob: str = ""


@dataclass(frozen=True, slots=True)
class Folder:
    """A scanned folder. `attributes` are its .gitattributes files as (folder, text), `recorded` the entity tags that
    `hf download` noted by path, `pointers` the files that are LFS pointers; `modelscope` says that ModelScope's
    client left its mark (a `.msc` file, or the folder's place in its cache).
    """

    name: str
    files: tuple[LocalFile, ...]
    attributes: tuple[tuple[str, str], ...] = ()
    recorded: Mapping[str, str] = field(default_factory=dict)
    modelscope: bool = False
    pointers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Choice:
    """The algorithm of every file, and what told it."""

    rule: Rule
    algorithms: Mapping[str, Algorithm]


def is_bookkeeping(path: str) -> bool:
    """Whether a path below a folder's root is kept by git or a client, and is no content."""
    segments = tuple(path.split("/"))
    return ".git" in segments or any(segments[: len(mark)] == mark for mark in BOOKKEEPING)


def choose(folder: Folder) -> Choice:
    """What the folder itself tells. Raises GsmError(InvalidInput) that shows the choices when it does not."""
    for rule, tells, of in _RULES:
        if tells(folder):
            return _every(folder, rule, of(folder))
    raise _untold(folder, "nothing tells which files are named by sha256 and which by their git blob id")


def choose_sha256(folder: Folder) -> Choice:
    """ModelScope's rule: every file by its SHA-256."""
    return _every(folder, Rule.SHA256, _from_modelscope(folder))


def choose_like(folder: Folder, like: Manifest) -> Choice:
    """The algorithms of a manifest that names every file of the folder. Raises GsmError(InvalidInput)."""
    algorithms = {entry.path: entry.digest.algorithm for entry in like.entries}
    return _every(folder, Rule.LIKE, algorithms.get)


def _every(folder: Folder, rule: Rule, of: Callable[[str], Algorithm | None]) -> Choice:
    algorithms = {file.path: of(file.path) for file in folder.files}
    untold = [path for path, algorithm in algorithms.items() if algorithm is None]
    if untold:
        raise _untold(folder, f"{rule} does not tell of {_some(untold)}")
    # Every other way to choose reads what a hub said; these two cannot know that the content was never fetched.
    if rule in (Rule.GITATTRIBUTES, Rule.SHA256) and folder.pointers:
        raise GsmError(
            Reason.INVALID_INPUT,
            f"{folder.name}: {_some(sorted(folder.pointers))} is a git LFS pointer, not its content",
            hint="git lfs pull",
        )
    return Choice(rule, {path: algorithm for path, algorithm in algorithms.items() if algorithm})


def _from_cache(folder: Folder) -> Callable[[str], Algorithm | None]:
    blobs = {file.path: file.blob for file in folder.files}
    return lambda path: algorithm_of(blobs[path])


def _from_record(folder: Folder) -> Callable[[str], Algorithm | None]:
    # A file that was added later has no record; the repository's own rules may still tell.
    rules = _from_attributes(folder) if _has_rules(folder) else lambda _path: None
    return lambda path: algorithm_of(folder.recorded.get(path, "")) or rules(path)


def _from_attributes(folder: Folder) -> Callable[[str], Algorithm | None]:
    is_lfs = gitattributes.lfs_paths_of(folder.attributes)
    return lambda path: Algorithm.SHA256 if is_lfs(path) else Algorithm.GITSHA1


def _from_modelscope(_folder: Folder) -> Callable[[str], Algorithm | None]:
    return lambda _path: Algorithm.SHA256


def _has_rules(folder: Folder) -> bool:
    return any(gitattributes.has_lfs_rules(text) for _, text in folder.attributes)


def algorithm_of(entity_tag: str) -> Algorithm | None:
    """The algorithm of a hub's entity tag, by its length: 64 hexadecimal digits are sha256, 40 a git blob id."""
    return _ALGORITHM_OF_LENGTH.get(len(entity_tag)) if _HEX.fullmatch(entity_tag) else None


def _untold(folder: Folder, why: str) -> GsmError:
    return GsmError(Reason.INVALID_INPUT, f"{folder.name}: {why}", hint=CHOICES)


def _some(paths: Iterable[str]) -> str:
    shown, *rest = (repr(path) for path in paths)
    return f"{shown} and {len(rest)} more" if rest else shown


_RULES: tuple[tuple[Rule, Callable[[Folder], bool], Callable[[Folder], Callable[[str], Algorithm | None]]], ...] = (
    (Rule.HF_CACHE, lambda folder: any(file.blob for file in folder.files), _from_cache),
    (Rule.HF_RECORD, lambda folder: bool(folder.recorded) and not folder.modelscope, _from_record),
    (Rule.MODELSCOPE, lambda folder: folder.modelscope and not folder.recorded, _from_modelscope),
    (Rule.GITATTRIBUTES, lambda folder: _has_rules(folder) and not folder.modelscope, _from_attributes),
)
