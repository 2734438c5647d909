"""Owns what the benchmarks work on: trees of random bytes, the revisions of a hub that they are, tools to compare with.

Refuses to be made twice: what is there already is used again.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import MIB, note

ROOT = Path(__file__).parents[1]
#: Everything a benchmark needs lies here; `GSM_BENCH` moves it to another disk.
FOLDER = Path(os.environ.get("GSM_BENCH") or ROOT / ".bench").absolute()
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Tree:
    """A folder of files of one size, and what a hub would call it."""

    name: str
    count: int
    file_size: int

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return FOLDER / "trees" / self.name

    @property
    def size(self) -> int:
        """Bytes in all."""
        return self.count * self.file_size

    @property
    def commit(self) -> str:
        """The commit that a hub serves it at."""
        return hashlib.sha1(self.name.encode()).hexdigest()

    @property
    def lfs(self) -> bool:
        """Whether its files are large ones, as a hub keeps them."""
        return self.file_size >= 10 * MIB

    def paths(self) -> list[str]:
        """The files' paths, sorted."""
        if self.lfs:
            return sorted(f"model-{number:05d}-of-{self.count:05d}.safetensors" for number in range(1, self.count + 1))
        return sorted(f"part-{number // 100:03d}/{number:05d}.bin" for number in range(self.count))

    def make(self) -> None:
        """Write the files, unless they are there."""
        done = self.folder.with_suffix(".done")
        if done.exists():
            return
        note(f"writing {self.folder}")
        shutil.rmtree(self.folder, ignore_errors=True)
        dice = random.Random(self.name)
        for path in self.paths():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                for start in range(0, self.file_size, MIB):
                    file.write(dice.randbytes(min(MIB, self.file_size - start)))
        os.sync()
        done.touch()


SHARDS = Tree("shards", 8, 256 * MIB)
ONE = Tree("one", 1, 2048 * MIB)
TINY = Tree("tiny", 10_000, 4096)


def fresh(path: Path, *, aside: bool = False) -> None:
    """An absent path, and a disk that has nothing left to write.

    With `aside` the old content is only moved away, until `clear`: ext4 steps around every inode that was freed in the
    last minutes, so that whoever creates thousands of files would pay for whoever removed thousands before.
    """
    if path.exists():
        if aside:
            _ASIDE.mkdir(exist_ok=True)
            path.rename(_ASIDE / f"{time.monotonic_ns()}")
        else:
            clear(path)
    os.sync()


def clear(path: Path | None = None) -> None:
    """Remove a folder, or everything that was moved aside."""
    gone = path or _ASIDE
    if gone.exists():
        subprocess.run(["chmod", "-R", "u+w", gone], check=True)
        shutil.rmtree(gone)


_ASIDE = FOLDER / "aside"


def model_signing_python() -> Path:
    """A Python with model_signing, in an environment of its own: nothing else here needs it."""
    environment = FOLDER / "model-signing"
    python = environment / "bin" / "python"
    if not (environment / ".installed").exists():
        note("installing model-signing")
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        packages = ["model-signing==1.1.1", "pyopenssl"]
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True
        )
        (environment / ".installed").touch()
    return python
