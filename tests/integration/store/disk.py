"""Owns what the store's tests share: a clock that a test moves, content put in as a transfer leaves it, and a re-hash
that knows nothing of the store's own code.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpustack_models.core.manifest import Algorithm, Entry, FileDigest, Manifest
from gpustack_models.store.blobs import Verified
from gpustack_models.store.clock import Instant
from gpustack_models.store.writer import Identity, Writer

SHA256, GITSHA1 = Algorithm.SHA256, Algorithm.GITSHA1
TEST = Identity("a test")
DAY = 86_400.0


@dataclass
class MovedClock:
    """Three clocks, each moved by the test."""

    wall: float = 1_700_000_000.0
    boot: str = "first"
    uptime: float = 1000.0
    steady: float = 0.0

    def now(self) -> Instant:
        return Instant(self.wall, self.boot, self.uptime)

    def monotonic(self) -> float:
        return self.steady

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.uptime += seconds
        self.steady += seconds

    def reboot(self) -> None:
        self.boot += "'"
        self.uptime = 0.0


def name_of(data: bytes, algorithm: Algorithm = SHA256) -> FileDigest:
    """The digest of content, by hashlib alone."""
    if algorithm is SHA256:
        return FileDigest(algorithm, hashlib.sha256(data).hexdigest())
    return FileDigest(algorithm, hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest())


def manifest_of(files: Mapping[str, bytes], algorithm: Algorithm = SHA256) -> Manifest:
    return Manifest.of(Entry(path, len(data), name_of(data, algorithm)) for path, data in files.items())


def adopt(writer: Writer, *contents: bytes, digests: tuple[Algorithm, ...] = (SHA256,), synced: bool = False) -> None:
    """Leave content in `partial/` as a transfer does, and hand it over."""
    files = []
    for data in dict.fromkeys(contents):
        name = f"given-{name_of(data).hex}"
        (writer.root.path / "partial" / name).write_bytes(data)
        files.append(Verified(name, len(data), tuple(name_of(data, each) for each in digests), synced))
    writer.adopt(files)


def put(writer: Writer, files: Mapping[str, bytes], algorithm: Algorithm = SHA256, *names: str) -> Manifest:
    """A published tree."""
    manifest = manifest_of(files, algorithm)
    writer.begin(manifest.digest, manifest)
    adopt(writer, *files.values(), digests=(algorithm,))
    writer.publish(manifest, names=names)
    writer.end(manifest.digest)
    return manifest


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        os.path.join(at, name).removeprefix(f"{folder}/"): Path(at, name).read_bytes()
        for at, _, names in os.walk(folder)
        for name in names
    }


def visible(root: Path) -> list[str]:
    """The digests that a consumer can find now."""
    return sorted(f"sha256:{name}" for name in os.listdir(root / "trees") if len(name) == 64)


def check_visible(root: Path) -> int:
    """Assert that every visible tree is whole and right, by hashlib and os alone. Returns how many there are."""
    for digest in visible(root):
        tree = root / "trees" / digest.removeprefix("sha256:")
        data = (tree / "manifest").read_bytes()
        assert hashlib.sha256(data).hexdigest() == tree.name
        lines = data.decode().splitlines()
        assert lines[0] == "gpustack-manifest v1"
        named = {}
        for line in lines[1:]:
            claim, size, path = line.split(" ", 2)
            named[path] = (claim, int(size))
        found = {}
        for at, folders, names in os.walk(tree / "files"):
            assert stat.S_IMODE(os.stat(at).st_mode) == 0o555
            assert not any(os.path.islink(os.path.join(at, each)) for each in (*folders, *names))
            for name in names:
                path = os.path.join(at, name)
                assert stat.S_IMODE(os.stat(path).st_mode) == 0o444
                found[os.path.relpath(path, tree / "files")] = path
        assert found.keys() == named.keys()
        for path, (claim, length) in named.items():
            content = Path(found[path]).read_bytes()
            assert len(content) == length
            assert str(name_of(content, Algorithm(claim.partition(":")[0]))) == claim
    return len(visible(root))


@contextmanager
def mounted(at: Path, *arguments: str) -> Iterator[Path]:
    """A filesystem of its own, by the arguments of `mount`. Needs root, as the node plugin does."""
    if os.getuid():
        pytest.skip("a filesystem of a test's own needs root")
    at.mkdir(exist_ok=True)
    subprocess.run(["mount", *arguments, str(at)], check=True)
    try:
        yield at
    finally:
        _unmount(at)


def _unmount(at: Path) -> None:
    until = time.monotonic() + 5
    while subprocess.run(["umount", str(at)], capture_output=True, check=False).returncode:
        if time.monotonic() > until:
            subprocess.run(["umount", "-l", str(at)], check=True)
            raise AssertionError(f"something still has {at} open")
        time.sleep(0.05)


@contextmanager
def small_disk(at: Path, options: str) -> Iterator[Path]:
    """A tmpfs, with mount options such as `size=1m`."""
    with mounted(at, "-t", "tmpfs", "-o", options, "tmpfs"):
        yield at


@contextmanager
def reflinking_disk(folder: Path) -> Iterator[Path]:
    """A btrfs of 48 MiB, whose empty image was made by `mkfs.btrfs --mixed -m single -d single` and `xz -9e`."""
    image = folder / "btrfs"
    image.write_bytes(lzma.decompress((Path(__file__).parent / "btrfs-48m.img.xz").read_bytes()))
    with mounted(folder / "reflinking", "-o", "loop", str(image)) as at:
        yield at


def remount(at: Path, options: str) -> None:
    """Change a small disk while it is used."""
    subprocess.run(["mount", "-o", f"remount,{options}", str(at)], check=True)
