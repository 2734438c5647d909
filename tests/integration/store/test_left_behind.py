"""Owns that what a dead process or somebody else left in a store stops nobody, and takes nothing from under a mount."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack_models.core.manifest import Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import history, progress
from gpustack_models.store import plan as planning
from gpustack_models.store.collect import collect
from gpustack_models.store.mending import heal, withdraw
from gpustack_models.store.progress import Download
from gpustack_models.store.records import Reference
from gpustack_models.store.scrub import scrub
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Writer
from tests.integration.store.disk import TEST, MovedClock, adopt, check_visible, contents, put

FILES = {"config.json": b"{}", "deep/er/tokenizer.json": b"tokens"}

# In a container, every process that starts the store has the same id.
SAME_ID = """
import os, sys
from pathlib import Path
from gpustack_models.store.layout import create
root = Path(sys.argv[1])
root.mkdir()
for number in range(8):
    (root / f".tmp-{os.getpid()}-{number}").touch()
create(root)
"""


def test_what_a_process_of_the_same_id_left_stops_no_creation(root: Path) -> None:
    subprocess.run([sys.executable, "-c", SAME_ID, str(root)], check=True)
    with Writer.start(root, TEST) as writer:
        put(writer, FILES)
    assert check_visible(root) == 1
    assert not list(root.glob(".tmp-*"))


def mount(writer: Writer, digest: str) -> Path:
    """What a mounted tree's Pod goes on seeing, wherever the tree is moved to."""
    writer.reference(Reference("volume", "/pods/target", digest, writer.clock.now()))
    handle = os.open(writer.root.path / "trees" / digest[7:] / "files", os.O_RDONLY | os.O_DIRECTORY)
    return Path(f"/proc/self/fd/{handle}")


def spoil(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def publish_again(writer: Writer, manifest: Manifest) -> None:
    writer.begin(manifest.digest, manifest)
    writer.publish(manifest)
    heal(writer, manifest)
    writer.end(manifest.digest)


def test_a_mounted_tree_whose_manifest_broke_keeps_its_files(root: Path, clock: MovedClock) -> None:
    with Writer.start(root, TEST, clock) as writer:
        manifest = put(writer, FILES)
        mounted = mount(writer, manifest.digest)
        for _ in range(2):
            spoil(root / "trees" / manifest.digest[7:] / "manifest", b"rot")
            publish_again(writer, manifest)
    with Writer.start(root, TEST, clock) as writer:
        collect(writer, lambda snapshot: planning.plan(snapshot, snapshot.usage.total))
        assert contents(mounted) == FILES
        writer.release("/pods/target")
        clock.pass_(planning.UNREFERENCED_SECONDS)
        collect(writer, lambda snapshot: planning.plan(snapshot, 0))
        assert os.listdir(root / "trash") == []
    assert check_visible(root) == 1


def test_a_mounted_tree_may_break_again_after_a_restart_with_the_same_id(root: Path) -> None:
    for turn in (b"first", b"second"):
        with Writer.start(root, TEST) as writer:
            manifest = put(writer, FILES)
            mount(writer, manifest.digest)
            spoil(root / "trees" / manifest.digest[7:] / "files" / "config.json", turn)
            withdraw(writer, scrub(writer))
            assert writer.lookup(manifest.digest) is None
    assert len(os.listdir(root / "trash")) == 2


BEYOND_MENDING = {
    "a folder is gone": "rm -r deep",
    "a folder in place of a file": "rm config.json && mkdir config.json",
    "a file in place of a folder": "rm -r deep && touch deep",
    "all of it is gone": "rm -r ../files",
}


@pytest.mark.parametrize("damage", BEYOND_MENDING.values(), ids=BEYOND_MENDING.keys())
def test_what_no_rename_can_mend_under_a_mount_is_published_again_all_the_same(
    root: Path, writer: Writer, damage: str
) -> None:
    manifest = put(writer, FILES)
    mount(writer, manifest.digest)
    tree = root / "trees" / manifest.digest[7:]
    for folder in (tree, tree / "files", tree / "files" / "deep"):
        folder.chmod(0o755)
    subprocess.run(damage, shell=True, check=True, cwd=tree / "files")
    withdraw(writer, scrub(writer))
    adopt(writer, *FILES.values())
    publish_again(writer, manifest)
    assert check_visible(root) == 1
    assert os.listdir(root / "partial") == []


PLANTED: dict[str, Callable[[Path], object]] = {
    "a pipe": lambda lock: os.mkfifo(lock),
    "a link": lambda lock: lock.symlink_to("elsewhere"),
    "a folder": lambda lock: lock.mkdir(),
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED.keys())
def test_what_stands_in_the_locks_place_is_refused_at_once(root: Path, plant: Callable[[Path], object]) -> None:
    Writer.start(root, TEST).close()
    (root / "lock").unlink()
    plant(root / "lock")
    with pytest.raises(GsmError, match="is not the lock file") as refused:
        Writer.attempt(root, TEST)
    assert refused.value.reason is Reason.STORAGE_FAILED
    with Store.open(root) as reader, pytest.raises(GsmError, match="is not the lock file"):
        reader.holder()
    assert not (root / "elsewhere").exists()


GOOD = {
    "digest": "sha256:a",
    "name": "n",
    "downloaded": 1,
    "size": 2,
    "rate": 0.5,
    "since": 5.0,
    "source": "Hub",
    "phase": "Downloading",
}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps({"format": 1, "downloads": [{**GOOD, "digest": 5}]}), id="a digest that is no text"),
        pytest.param(json.dumps({"format": 1, "downloads": [{**GOOD, "size": "x"}]}), id="a size that is no number"),
        pytest.param(json.dumps({"format": 1, "downloads": [{**GOOD, "since": float("nan")}]}), id="no time"),
        pytest.param(json.dumps({"format": 1, "downloads": [{**GOOD, "more": 1}]}), id="a field too many"),
        pytest.param(json.dumps({"format": 1, "downloads": [3]}), id="no object"),
        pytest.param(json.dumps({"format": 1, "downloads": 3}), id="no list"),
        pytest.param("[" * 60_000, id="nested without end"),
    ],
)
def test_progress_that_no_writer_wrote_is_none(writer: Writer, text: str) -> None:
    path = Path(writer.root.ledger.path, progress.NAME)
    path.write_text(json.dumps({"format": 1, "downloads": [GOOD]}))
    assert progress.read(writer.root.ledger) == [Download("sha256:a", "n", 1, 2, 0.5, 5.0, "Hub", "Downloading")]
    path.write_text(text)
    assert progress.read(writer.root.ledger) == []


HEADER = '{"format": 1, "kind": "history"}\n'
EVENT = '{"time": 5, "event": "pinned", "digest": "sha256:a"}\n'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HEADER[:6] + "\n" + EVENT, id="a torn first line"),
        pytest.param(HEADER + "[" * 60_000 + "\n" + EVENT, id="nested without end"),
        pytest.param(HEADER + EVENT.replace("5", "1e30") + EVENT, id="a time after all calendars"),
        pytest.param(HEADER + EVENT.replace("5", "NaN") + EVENT, id="no time"),
    ],
)
def test_a_broken_line_takes_no_other_out_of_the_history(writer: Writer, text: str) -> None:
    Path(writer.root.ledger.path, history.NAME).write_text(text)
    assert [(event.time, event.event) for event in history.read(writer.root.ledger)] == [(5.0, "pinned")]


def test_a_use_that_cannot_be_read_keeps_nobody_from_a_published_tree(root: Path, writer: Writer) -> None:
    digest = put(writer, FILES).digest
    (root / "ledger" / "uses" / digest[7:]).write_text("broken")
    writer.touch(digest)
    writer.reference(Reference("volume", "/pods/target", digest, writer.clock.now()))
    writer.release("/pods/target")
    with pytest.raises(GsmError, match="cannot be read"):
        collect(writer, lambda snapshot: planning.plan(snapshot, snapshot.usage.total))
    assert check_visible(root) == 1
