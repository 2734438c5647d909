"""Measures the store without a network: a lookup in stores of 1 to 10,000 trees, a pull of what is held, a scrub.

Refuses a cold disk: what is compared is the work, with the files in the page cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import Case, interleave, measure, note, table
from benchmarks.material import BIN, FOLDER, SHARDS
from gpustack_models.core.location import Location
from gpustack_models.core.manifest import Algorithm, Entry, FileDigest, Manifest
from gpustack_models.store.attempts import Offer
from gpustack_models.store.blobs import Verified
from gpustack_models.store.materialize import Materializer
from gpustack_models.store.sources import Origin
from gpustack_models.store.store import Store
from gpustack_models.store.transfer import Transfer
from gpustack_models.store.writer import Identity, Writer
from gpustack_models.workflows.pull import Pulled, Wanted
from gpustack_models.workflows.pull import pull as pull_all

ROUNDS = 7
TREES = (1, 1000, 10_000)
FILES = 100
_PULL = "`pull`, from the manifest to the published tree"
BENCH = Identity("a benchmark")


def run(rounds: int = ROUNDS) -> str:
    """Measure all three; returns the section."""
    work = FOLDER / "stores"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        parts = ["## The store", "", *_lookups(work, rounds), "", *_held(work, rounds), "", *_scrub(work, rounds)]
        return "\n".join(parts)
    finally:
        shutil.rmtree(work)


def _lookups(work: Path, rounds: int) -> list[str]:
    stores, cases = [], {}
    for number in TREES:
        note(f"  a store of {number} trees")
        root = work / f"trees-{number}"
        digest = _filled(root, number)
        store = Store.open(root)
        stores.append(store)
        cases[f"among {number:,}"] = _repeated(lambda store=store, digest=digest: store.lookup(digest), 1000)  # type: ignore[misc]
    taken = interleave(cases, rounds)
    for store in stores:
        store.close()
    return [
        "### A lookup of a published digest",
        "",
        f"1,000 lookups of a tree of {FILES} files among others, its manifest read and hashed each time.",
        "",
        taken.table(f"among {TREES[0]:,}"),
    ]


def _filled(root: Path, number: int) -> str:
    """A store with so many trees, which share their files; the digest of the one with 100 files."""
    with Writer.start(root, BENCH) as writer:
        entries = _hold(writer)
        for index in range(number - 1):
            writer.publish(Manifest.of([*entries[:3], Entry(f"tree-{index}", entries[3].size, entries[3].digest)]))
        return writer.publish(Manifest.of(entries)).digest


def _hold(writer: Writer) -> list[Entry]:
    entries, files = [], []
    for index in range(FILES):
        data = hashlib.sha256(b"%d" % index).digest() * 128
        digest = FileDigest(Algorithm.SHA256, hashlib.sha256(data).hexdigest())
        (writer.root.path / "partial" / f"held-{index}").write_bytes(data)
        files.append(Verified(f"held-{index}", len(data), (digest,), False))
        entries.append(Entry(f"folder-{index % 5}/file-{index}", len(data), digest))
    writer.adopt(files)
    return entries


def _held(work: Path, rounds: int) -> list[str]:
    writer = Writer.start(work / "held", BENCH)
    entries = _hold(writer)
    materializer = Materializer(writer, Transfer())
    turn = iter(range(1_000_000))
    by_hand = work / "by-hand"

    def pull() -> None:
        manifest = Manifest.of([*entries[1:], Entry(f"new-{next(turn)}", entries[0].size, entries[0].digest)])
        offer = Offer("nowhere", Origin.HUB, lambda: manifest, _Nowhere())
        (result,) = pull_all(materializer, [Wanted("held", manifest.digest, (offer,))], lambda _downloads: None)
        assert isinstance(result, Pulled), result

    def link() -> None:
        target = by_hand / str(next(turn))
        for entry in entries:
            (target / entry.path).parent.mkdir(parents=True, exist_ok=True)
            hexadecimal = entry.digest.hex
            os.link(work / "held/blobs/sha256" / hexadecimal[:2] / hexadecimal, target / entry.path)
        os.sync()

    taken = interleave({_PULL: pull, "100 bare links and a `sync`": link}, rounds)
    materializer.close()
    writer.close()
    return [
        "### A pull of a tree whose 100 files are all held",
        "",
        "From the request to the published tree: the listing is given, no content is asked for.",
        "",
        taken.table(_PULL),
    ]


class _Nowhere:
    origin = Origin.HUB

    def locate(self, path: str) -> Location:
        raise AssertionError(f"{path} was asked for, and is held")


def _scrub(work: Path, rounds: int) -> list[str]:
    SHARDS.make()
    root, manifest = str(work / "scrub"), work / "shards.manifest"
    gsm, folder = str(BIN / "gsm"), str(SHARDS.folder)
    listed = subprocess.run([gsm, "digest", "--sha256", folder, "-o", "manifest"], check=True, capture_output=True)
    manifest.write_bytes(listed.stdout)
    adopt = [gsm, "node-store", "import", folder, "--manifest", str(manifest), "--root", root, "--high", "100"]
    subprocess.run(adopt, check=True, capture_output=True)
    cases = [
        Case("`gsm digest --sha256`", [gsm, "digest", "--sha256", folder]),
        Case("`gsm node-store verify`", [gsm, "node-store", "verify", "--root", root]),
    ]
    runs = measure(cases, rounds)
    return ["### A scrub of 8 files of 256 MiB", "", table(runs, cases[0].name, size=SHARDS.size)]


def _repeated(work: Callable[[], object], times: int) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(times):
            work()

    return repeated
