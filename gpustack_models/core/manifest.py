"""Owns the canonical manifest `gpustack-manifest v1`: entries, bytes, digest, difference.

Refuses every entry the format cannot name exactly: one bad entry refuses the whole manifest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from gpustack_models.core.patterns import Patterns
from gpustack_models.errors import GsmError, Reason

HEADER = b"gpustack-manifest v1\n"
MAX_ENTRIES = 100_000
DIGEST_PATTERN = r"sha256:[0-9a-f]{64}"

_DIGEST = re.compile(DIGEST_PATTERN)
_HEX = re.compile(r"[0-9a-f]+")
_BAD_PATH = re.compile(r"[\x00-\x1f\x7f]|(?:^|/)(?:\.{0,2})(?:/|$)")
_LINE = re.compile(rb"(sha256|gitsha1):([0-9a-f]+) (0|[1-9][0-9]*) ([^\n]+)\n")


class Algorithm(StrEnum):
    """How a file is named: the SHA-256 of its content, or its git blob id (SHA-1 over a header and the content)."""

    SHA256 = "sha256"
    GITSHA1 = "gitsha1"

    @property
    def hex_length(self) -> int:
        """Hexadecimal digits of a digest of this algorithm."""
        return 64 if self is Algorithm.SHA256 else 40


@dataclass(frozen=True, slots=True, order=True)
class FileDigest:
    """A file's own digest: `<algorithm>:<lowercase hex>`."""

    algorithm: Algorithm
    hex: str

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.hex}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a commit: its path below the root, its size in bytes, its digest. Unchecked until in a Manifest."""

    path: str
    size: int
    digest: FileDigest


@dataclass(frozen=True)
class Manifest:
    """A checked, sorted set of entries. Make one with `Manifest.of` or `Manifest.parse`.

    Raises GsmError(InvalidManifest, ManifestTooLarge, EmptyManifest) (model-artifact.md, "The manifest digest";
    hubs.md, "The canonical manifest").
    """

    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, entries: Iterable[Entry], patterns: Patterns | None = None, *, name: str = "manifest") -> Manifest:
        """Filter, check and sort entries. `name` is what an error calls the manifest (a reference)."""
        listed = tuple(entries)
        if len(listed) > MAX_ENTRIES:
            raise GsmError(Reason.MANIFEST_TOO_LARGE, f"{name}: {len(listed)} files; at most {MAX_ENTRIES} are taken")
        for entry in listed:
            if problem := problem_of(entry):
                raise GsmError(Reason.INVALID_MANIFEST, f"{name}: {problem}")
        _refuse_conflicts(listed, name)
        if patterns:
            keeps = patterns.keeps()
            listed = tuple(entry for entry in listed if keeps(entry.path))
        if not listed:
            why = "the patterns keep no file" if patterns else "it lists no file"
            raise GsmError(Reason.EMPTY_MANIFEST, f"{name}: {why}", hint="gsm resolve --files shows what is there")
        return cls(tuple(sorted(listed, key=lambda entry: entry.path.encode())))

    @classmethod
    def parse(cls, data: bytes, *, name: str = "manifest") -> Manifest:
        """Read the canonical bytes; anything that would not print back to the same bytes is refused."""
        if not data.startswith(HEADER):
            raise GsmError(Reason.INVALID_MANIFEST, f"{name}: does not begin with {HEADER.decode().strip()!r}")
        entries: list[Entry] = []
        position = len(HEADER)
        while position < len(data):
            match = _LINE.match(data, position)
            if match is None:
                raise GsmError(
                    Reason.INVALID_MANIFEST,
                    f"{name}: line {len(entries) + 2} is not '<algorithm>:<hex> <size> <path>' ending in LF",
                )
            algorithm, hexadecimal, size, path = match.groups()
            if len(size) > 20:
                raise GsmError(Reason.INVALID_MANIFEST, f"{name}: line {len(entries) + 2} has a size out of range")
            entries.append(
                Entry(
                    path.decode("utf-8", "surrogateescape"),
                    int(size),
                    FileDigest(Algorithm(algorithm.decode()), hexadecimal.decode()),
                )
            )
            position = match.end()
        manifest = cls.of(entries, name=name)
        if manifest.data != data:
            raise GsmError(Reason.INVALID_MANIFEST, f"{name}: its lines are not sorted by path")
        return manifest

    @cached_property
    def data(self) -> bytes:
        """The canonical bytes."""
        lines = (f"{entry.digest} {entry.size} {entry.path}\n" for entry in self.entries)
        return HEADER + "".join(lines).encode()

    @cached_property
    def digest(self) -> str:
        """The content address: `sha256:` and the SHA-256 of the canonical bytes."""
        return "sha256:" + hashlib.sha256(self.data).hexdigest()

    @property
    def file_count(self) -> int:
        """How many files it names."""
        return len(self.entries)

    @cached_property
    def size(self) -> int:
        """The sum of the files' sizes, in bytes."""
        return sum(entry.size for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Difference:
    """From one manifest to another: paths only in the second, only in the first, and in both with another content."""

    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    changed: tuple[tuple[Entry, Entry], ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def difference(before: Manifest, after: Manifest) -> Difference:
    """What changed between two manifests, each list sorted by path."""
    old = {entry.path: entry for entry in before.entries}
    new = {entry.path: entry for entry in after.entries}
    return Difference(
        added=tuple(entry for entry in after.entries if entry.path not in old),
        removed=tuple(entry for entry in before.entries if entry.path not in new),
        changed=tuple(
            (old[entry.path], entry) for entry in after.entries if entry.path in old and entry != old[entry.path]
        ),
    )


def is_digest(text: str) -> bool:
    """Whether a text is a manifest digest: `sha256:` and 64 lowercase hexadecimal digits."""
    return _DIGEST.fullmatch(text) is not None


def check_expected(name: str, manifest: Manifest, expected: str | None) -> None:
    """Compare a manifest with its anchor. Raises GsmError(DigestMismatch) with both digests in the message."""
    if expected is not None and manifest.digest != expected:
        raise GsmError(
            Reason.DIGEST_MISMATCH,
            f"{name}: resolved to {manifest.digest}, but {expected} is expected",
            hint="the source's content at this revision is not what was pinned; compare with gsm resolve --files",
        )


def git_blob_header(size: int) -> bytes:
    """What a git blob id hashes before the content of `size` bytes."""
    return b"blob %d\0" % size


def problem_of_path(path: str) -> str:
    """Why a path may not be in a manifest, or an empty string: valid UTF-8, relative, no control character, no
    empty, `.` or `..` segment (hubs.md, "The canonical manifest").
    """
    if _BAD_PATH.search(path):
        return f"path {path!r} is not a plain relative path"
    try:
        path.encode()
    except UnicodeEncodeError:
        return f"path {path!r} is not valid UTF-8"
    return ""


def problem_of(entry: Entry) -> str:
    """Why an entry may not be in a manifest, or an empty string."""
    if problem := problem_of_path(entry.path):
        return problem
    if entry.size < 0 or entry.size >= 1 << 63:
        return f"file {entry.path!r} has the size {entry.size}"
    digest = entry.digest
    if len(digest.hex) != digest.algorithm.hex_length or not _HEX.fullmatch(digest.hex):
        return f"file {entry.path!r} has a malformed {digest.algorithm} digest"
    return ""


def _refuse_conflicts(entries: tuple[Entry, ...], name: str) -> None:
    # A path that is both a file and a folder of another file cannot exist on any disk.
    paths = {entry.path for entry in entries}
    if len(paths) != len(entries):
        ordered = sorted(entry.path for entry in entries)
        twice = next(path for path, following in pairwise(ordered) if path == following)
        raise GsmError(Reason.INVALID_MANIFEST, f"{name}: path {twice!r} is listed twice")
    folders = set()
    for path in paths:
        end = path.rfind("/")
        while end > 0 and path[:end] not in folders:
            folders.add(path[:end])
            end = path.rfind("/", 0, end)
    if clash := paths & folders:
        raise GsmError(Reason.INVALID_MANIFEST, f"{name}: path {min(clash)!r} is both a file and a folder")
