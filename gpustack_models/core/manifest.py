"""Owns the canonical manifest `gpustack-manifest v1`: entries, bytes, digest, difference.

Refuses every entry the format cannot name exactly: one bad entry refuses the whole manifest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice, pairwise
from operator import attrgetter, lt

import msgspec

from gpustack_models.core.patterns import Patterns
from gpustack_models.errors import GsmError, Reason

HEADER = b"gpustack-manifest v1\n"
MAX_ENTRIES = 100_000
DIGEST_PATTERN = r"sha256:[0-9a-f]{64}"

_DIGEST = re.compile(DIGEST_PATTERN)
_HEX = re.compile(r"[0-9a-f]+")
_BAD_PATH = re.compile(r"[\x00-\x1f\x7f]|(?:^|/)(?:\.{0,2})(?:/|\Z)")
_LINE = re.compile(r"^(sha256|gitsha1):([0-9a-f]+) (0|[1-9][0-9]{0,18}) ([^\n]+)\n", re.MULTILINE)
_CONTROLS = bytes(range(0x20)) + b"\x7f"
_HEX_DIGITS = b"0123456789abcdef"
_SIZE_LIMIT = 1 << 63


class Algorithm(StrEnum):
    """How a file is named: the SHA-256 of its content, or its git blob id (SHA-1 over a header and the content)."""

    SHA256 = "sha256"
    GITSHA1 = "gitsha1"

    @property
    def hex_length(self) -> int:
        """Hexadecimal digits of a digest of this algorithm."""
        return 64 if self is Algorithm.SHA256 else 40


_HEX_LENGTHS = {algorithm: algorithm.hex_length for algorithm in Algorithm}
_PREFIXES = {algorithm: f"{algorithm}:" for algorithm in Algorithm}


# A listing holds 100,000 of each of these two. As msgspec structs they cost a tenth of a dataclass to make and, having
# nothing that could be a cycle, are not walked by the garbage collector (docs/adr/0001-structs-for-entries.md).
class FileDigest(msgspec.Struct, frozen=True, order=True, gc=False):
    """A file's own digest: `<algorithm>:<lowercase hex>`."""

    algorithm: Algorithm
    hex: str

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.hex}"


class Entry(msgspec.Struct, frozen=True, gc=False):
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
        """Check, filter and sort entries. `name` is what an error calls the manifest (a reference).

        What the patterns would drop is checked too: a listing with one bad entry is not to be trusted about the rest.
        """
        listed = tuple(islice(entries, MAX_ENTRIES + 1))
        if len(listed) > MAX_ENTRIES:
            raise _too_large(name)
        paths = [entry.path for entry in listed]
        if not _all_sound(listed, paths):
            raise GsmError(Reason.INVALID_MANIFEST, f"{name}: {next(filter(None, map(problem_of, listed)))}")
        if not all(map(lt, paths, islice(paths, 1, None))):
            # Code points order as their UTF-8 bytes do, and no surrogate is left here.
            listed = tuple(sorted(listed, key=attrgetter("path")))
            paths = [entry.path for entry in listed]
        _refuse_conflicts(paths, name)
        if patterns:
            keeps = patterns.keeps()
            listed = tuple(entry for entry in listed if keeps(entry.path))
        if not listed:
            why = "the patterns keep no file" if patterns else "it lists no file"
            raise GsmError(Reason.EMPTY_MANIFEST, f"{name}: {why}", hint="gsm resolve --files shows what is there")
        return cls(listed)

    @classmethod
    def parse(cls, data: bytes, *, name: str = "manifest") -> Manifest:
        """Read the canonical bytes; anything that would not print back to the same bytes is refused."""
        if not data.startswith(HEADER):
            raise GsmError(Reason.INVALID_MANIFEST, f"{name}: does not begin with {HEADER.decode().strip()!r}")
        if data.count(b"\n") > MAX_ENTRIES + 1:
            raise _too_large(name)
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise GsmError(Reason.INVALID_MANIFEST, f"{name}: line {line} is not valid UTF-8") from error
        lines = _LINE.findall(text, len(HEADER))
        if len(lines) != text.count("\n") - 1 or not text.endswith("\n"):
            raise GsmError(
                Reason.INVALID_MANIFEST,
                f"{name}: line {_first_bad_line(text)} is not '<algorithm>:<hex> <size> <path>' ending in LF",
            )
        algorithms = {str(algorithm): algorithm for algorithm in Algorithm}
        manifest = cls.of(
            [Entry(path, int(size), FileDigest(algorithms[algorithm], hex_)) for algorithm, hex_, size, path in lines],
            name=name,
        )
        if manifest.data != data:
            raise GsmError(Reason.INVALID_MANIFEST, f"{name}: its lines are not sorted by path")
        return manifest

    @cached_property
    def data(self) -> bytes:
        """The canonical bytes."""
        lines = [
            f"{_PREFIXES[(digest := entry.digest).algorithm]}{digest.hex} {entry.size} {entry.path}\n"
            for entry in self.entries
        ]
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
        return f"path {path!r:.300} is not a plain relative path"
    try:
        path.encode()
    except UnicodeEncodeError:
        return f"path {path!r:.300} is not valid UTF-8"
    return ""


def problem_of(entry: Entry) -> str:
    """Why an entry may not be in a manifest, or an empty string."""
    if problem := problem_of_path(entry.path):
        return problem
    if type(entry.size) is not int or not 0 <= entry.size < _SIZE_LIMIT:
        return f"file {entry.path!r:.300} has a size that is not a whole number from 0 to 2^63 - 1"
    digest = entry.digest
    if len(digest.hex) != _HEX_LENGTHS.get(digest.algorithm) or not _HEX.fullmatch(digest.hex):
        return f"file {entry.path!r:.300} has a malformed {digest.algorithm} digest"
    return ""


def _all_sound(listed: Sequence[Entry], paths: list[str]) -> bool:
    # The rules of problem_of, on the whole listing at once: substring and table look-ups run at memory speed, where a
    # call an entry would cost more than fetching and parsing the listing. A test holds the two together.
    text = "/" + "/\n/".join(paths) + "/"
    if "//" in text or ("/." in text and ("/./" in text or "/../" in text)):
        return not paths
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return False
    if len(data) - len(data.translate(None, _CONTROLS)) != len(paths) - 1:
        return False
    sizes = [entry.size for entry in listed]
    if {*map(type, sizes)} != {int} or min(sizes) < 0 or max(sizes) >= _SIZE_LIMIT:
        return False
    digests = [entry.digest for entry in listed]
    hexes = [digest.hex for digest in digests]
    if [*map(len, hexes)] != [_HEX_LENGTHS.get(digest.algorithm) for digest in digests]:
        return False
    joined = "".join(hexes)
    return joined.isascii() and not joined.encode().translate(None, _HEX_DIGITS)


def _refuse_conflicts(paths: list[str], name: str) -> None:
    # `paths` is sorted. A path that is both a file and a folder of another file cannot exist on any disk.
    if not all(map(lt, paths, islice(paths, 1, None))):
        twice = next(path for path, following in pairwise(paths) if path == following)
        raise GsmError(Reason.INVALID_MANIFEST, f"{name}: path {twice!r:.300} is listed twice")
    folders: set[str] = set()
    for folder in {path.rpartition("/")[0] for path in paths}:
        above = folder
        while above and above not in folders:
            folders.add(above)
            above = above.rpartition("/")[0]
    if not folders.isdisjoint(paths):
        clash = min(folders.intersection(paths))
        raise GsmError(Reason.INVALID_MANIFEST, f"{name}: path {clash!r:.300} is both a file and a folder")


def _first_bad_line(text: str) -> int:
    lines = text.split("\n")
    return next(
        (number for number, line in enumerate(lines[1:], start=2) if not _LINE.fullmatch(line + "\n")),
        len(lines),
    )


def _too_large(name: str) -> GsmError:
    return GsmError(Reason.MANIFEST_TOO_LARGE, f"{name}: more than {MAX_ENTRIES} files; no more are taken")
