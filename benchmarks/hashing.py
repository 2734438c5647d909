"""Measures hashing: `gsm digest` against bare hashlib in two threads, `hf cache verify` and model_signing.

Refuses a cold disk: what is compared is the hashing of bytes in memory.
"""

from __future__ import annotations

import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import inprocess
from benchmarks.harness import Case, measure, table
from benchmarks.material import BIN, SHARDS, TINY, Tree, model_signing_python
from benchmarks.webserver import OWNER, Server, serving
from gpustack_models.store.hashing import HashJob, hash_files

ROUNDS = 5

_BARE = """\
import hashlib, pathlib, sys
from concurrent.futures import ThreadPoolExecutor

def digest(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

paths = [path for path in pathlib.Path(sys.argv[1]).rglob("*") if path.is_file()]
with ThreadPoolExecutor(2) as pool:
    print(len(set(pool.map(digest, paths))))
"""
_MODEL_SIGNING = "import sys; from model_signing import hashing; print(hashing.hash(sys.argv[1]))"


def cases(tree: Tree, server: Server) -> list[Case]:
    """The ways to hash a tree; ours is the first."""
    hub = {"HF_ENDPOINT": server.endpoint, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    verify = [str(BIN / "hf"), "cache", "verify", f"{OWNER}/{tree.name}", "--local-dir", str(tree.folder)]
    return [
        Case("`gsm digest --sha256`", [str(BIN / "gsm"), "digest", "--sha256", str(tree.folder)]),
        Case("`hashlib.file_digest` in two threads", [sys.executable, "-c", _BARE, str(tree.folder)]),
        Case("`hf cache verify`", verify, hub),
        Case("model_signing", [str(model_signing_python()), "-c", _MODEL_SIGNING, str(tree.folder)]),
    ]


def in_one_process(tree: Tree, rounds: int) -> str:
    """The hashing alone, without any process's start."""
    jobs = [HashJob(path) for path in tree.paths()]
    paths = [tree.folder / path for path in tree.paths()]

    def bare() -> int:
        with ThreadPoolExecutor(2) as pool:
            return len(set(pool.map(_digest, paths)))

    cases = {
        "`hashlib.file_digest` in two threads": bare,
        "`hash_files`": lambda: len({one.digests for one in hash_files(jobs, tree.folder)}),
    }
    return inprocess.table(inprocess.interleave(cases, rounds), "`hashlib.file_digest` in two threads")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def run(rounds: int = ROUNDS) -> str:
    """Measure both trees; returns the section."""
    parts = ["## Hashing", "", "The files are in the page cache. First whole processes, then the hashing alone."]
    with serving((SHARDS, TINY)) as server:
        for tree, title in ((SHARDS, "8 files of 256 MiB"), (TINY, "10,000 files of 4 KiB")):
            rows = cases(tree, server)
            runs = measure(rows, rounds)
            parts += ["", f"### {title}", "", table(runs, rows[0].name, size=tree.size if tree.lfs else 0)]
            parts += ["", in_one_process(tree, rounds)]
    return "\n".join(parts)
