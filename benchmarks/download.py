"""Measures downloads from nginx on loopback: `gsm node-store pull`, `hf download` with `hf cache verify`, curl.

Refuses to compare less than what was asked for: ours and hf's verify every byte, curl's only syncs them.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness import Case, measure, table
from benchmarks.material import BIN, FOLDER, ONE, SHARDS, TINY, Tree, clear, fresh
from benchmarks.webserver import OWNER, Server, serving

ROUNDS = 5
OUT = FOLDER / "out"

_SYNC = "import os, sys\nfor path in sys.argv[1:]:\n    fd = os.open(path, os.O_RDONLY)\n    os.fsync(fd)\n"


def ours(tree: Tree, server: Server) -> Case:
    """Resolve, download, verify, sync, publish."""
    store = OUT / "store"
    return Case(
        "`gsm node-store pull`",
        [str(BIN / "gsm"), "node-store", "pull", "--root", str(store), f"hf://{OWNER}/{tree.name}"],
        {"HF_ENDPOINT": server.endpoint},
        lambda: fresh(OUT, aside=not tree.lfs),
    )


def hf(tree: Tree, server: Server, *, verify: bool = True) -> Case:
    """The hub's own client, into its cache."""
    environment = {
        "HF_ENDPOINT": server.endpoint,
        "HF_HOME": str(OUT / "hf"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    repository = f"{OWNER}/{tree.name}"
    command = f"{BIN}/hf download {repository}"
    if verify:
        command += f" && {BIN}/hf cache verify {repository}"
    name = "`hf download`, then `hf cache verify`" if verify else "`hf download`, nothing verified"
    return Case(name, ["sh", "-c", command], environment, lambda: fresh(OUT, aside=not tree.lfs))


def curl(tree: Tree, server: Server) -> Case:
    """Bare bytes: curl for all files at once, then an fsync of each, nothing verified."""
    config = FOLDER / f"{tree.name}.curl"
    folder = OUT / "curl"
    lines = [f'url = "{server.cdn}/{tree.name}/{path}"\noutput = "{folder}/{Path(path).name}"' for path in tree.paths()]
    config.write_text("\n".join(lines))
    command = (
        f"mkdir -p {folder} && curl --silent --fail --parallel --parallel-immediate --parallel-max 8 --config {config}"
        f" && python3 -c '{_SYNC}' {folder}/*"
    )
    return Case(
        "`curl --parallel`, then `fsync`, nothing verified",
        ["sh", "-c", command],
        {},
        lambda: fresh(OUT, aside=not tree.lfs),
    )


def run(rounds: int = ROUNDS) -> str:
    """Measure three trees; returns the section."""
    parts = [
        "## Download",
        "",
        "From nginx with sendfile on loopback, whole processes, onto the same disk. Ours ends with a verified, synced",
        "and published tree; `hf`'s with a verified one that is not synced; curl's with bytes that nobody looked at.",
    ]
    with serving((SHARDS, ONE, TINY)) as server:
        trees = {
            "8 files of 256 MiB": (SHARDS, [ours(SHARDS, server), curl(SHARDS, server), hf(SHARDS, server)]),
            "One file of 2 GiB": (ONE, [ours(ONE, server), curl(ONE, server), hf(ONE, server)]),
            "10,000 files of 4 KiB": (TINY, [ours(TINY, server), hf(TINY, server, verify=False)]),
        }
        for title, (tree, rows) in trees.items():
            runs = measure(rows, rounds if tree.lfs else min(rounds, 3))
            parts += ["", f"### {title}", "", table(runs, rows[0].name, size=tree.size if tree.lfs else 0)]
    fresh(OUT)
    clear()
    return "\n".join(parts)
