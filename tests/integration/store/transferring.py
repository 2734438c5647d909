"""Owns what the transfer's tests share: wants made of contents, sources made of servers, one call that fetches.

Refuses assertions; those are the tests'.
"""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpustack_models.core.location import Location
from gpustack_models.core.manifest import Algorithm, FileDigest, git_blob_header
from gpustack_models.store.sources import Fetched, Limits, Origin, TransferReport, Want
from gpustack_models.store.transfer import Retry, Transfer

MIB = 1 << 20
TOKEN = "hf_planted-token-4711"
SIGNATURE = "X-Signature=planted-4712"
#: Failures are met as in earnest, in a hundredth of the time.
QUICK = Retry(base=0.005, cap=0.05, patience=5)


@dataclass
class From:
    """A source: the files below a URL."""

    url: str
    origin: Origin = Origin.HUB
    token: str = TOKEN

    def locate(self, path: str) -> Location:
        """Where a file is."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return Location(f"{self.url}/{path}?{SIGNATURE}", self.url, headers)


@dataclass
class Got:
    """What one fetch did, as it was told."""

    files: dict[str, Fetched] = field(default_factory=dict)
    progress: dict[str, list[int]] = field(default_factory=dict)
    report: TransferReport | None = None

    def content(self, path: str) -> bytes:
        """The bytes of a fetched file."""
        return self.files[path].path.read_bytes()


def noise(size: int, seed: int = 1) -> bytes:
    """Bytes without a pattern: no two of a file's parts can be taken for each other."""
    return random.Random(seed).randbytes(size)


def want(path: str, content: bytes, algorithm: Algorithm = Algorithm.SHA256) -> Want:
    """The want of a content."""
    if algorithm is Algorithm.SHA256:
        hexadecimal = hashlib.sha256(content).hexdigest()
    else:
        hexadecimal = hashlib.sha1(git_blob_header(len(content)) + content).hexdigest()
    return Want(FileDigest(algorithm, hexadecimal), len(content), path)


def wants_of(files: Mapping[str, bytes]) -> list[Want]:
    """One want per file, by SHA-256."""
    return [want(path, content) for path, content in files.items()]


def make_transfer(*, concurrency: int = 8, rate: int = 0, stall: float = 3, retry: Retry = QUICK) -> Transfer:
    """A transfer that meets failures quickly."""
    return Transfer(Limits(concurrency, rate, stall), retry=retry)


def fetch(
    wants: Sequence[Want],
    folder: Path,
    sources: Sequence[From],
    *,
    transfer: Transfer | None = None,
    stop: threading.Event | None = None,
    got: Got | None = None,
) -> Got:
    """Fetch, and keep what was told; with `got`, what was told before an error is there too."""
    got = got or Got()

    def told(one: Want, verified: int, _: Origin) -> None:
        got.progress.setdefault(one.path, []).append(verified)

    def keep(fetched: Fetched) -> None:
        got.files[fetched.want.path] = fetched

    used = transfer or make_transfer()
    try:
        got.report = used.fetch(wants, folder, sources, on_file=keep, progress=told, stop=stop)
    finally:
        if transfer is None:
            used.close()
    return got
