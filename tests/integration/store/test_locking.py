"""Owns that one process writes, any number reads, a dead writer blocks nobody, and what it left half made is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import progress
from gpustack_models.store.layout import create
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Identity, Writer
from tests.integration.store.disk import TEST, check_visible, manifest_of, put, visible

HOLD = """
import sys, time
from pathlib import Path
from gpustack_models.store.writer import Identity, Writer
writer = Writer.start(Path(sys.argv[1]), Identity("gsm node-store pull"))
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(root: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(root)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_writer_is_told_who_is_the_first(root: Path, holder: subprocess.Popen[str]) -> None:
    assert Writer.attempt(root, TEST) is None
    with pytest.raises(GsmError) as refused:
        Writer.start(root, TEST)
    assert refused.value.reason is Reason.STORE_LOCKED
    assert refused.value.retryable
    assert f"gsm node-store pull (process {holder.pid})" in refused.value.message
    with Store.open(root) as reader:
        who = reader.holder()
        assert who is not None
        assert (who.pid, who.lasting) == (holder.pid, False)


def test_a_dead_writer_blocks_nobody(root: Path, holder: subprocess.Popen[str]) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with Store.open(root) as reader:
        assert reader.holder() is None
    with Writer.start(root, TEST) as writer:
        put(writer, {"a": b"1"})


def test_two_writers_in_one_process_are_two(root: Path) -> None:
    with Writer.start(root, TEST):
        assert Writer.attempt(root, TEST) is None


def test_the_lock_is_free_after_close(root: Path) -> None:
    for _ in range(3):
        Writer.start(root, TEST).close()
    with Store.open(root) as reader:
        assert reader.holder() is None


def test_looking_at_the_lock_does_not_lock_a_writer_out(root: Path) -> None:
    create(root)
    over = threading.Event()

    def look() -> None:
        with Store.open(root) as reader:
            while not over.is_set():
                reader.holder()

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(20):
            Writer.start(root, TEST).close()
    finally:
        over.set()
        for reader in readers:
            reader.join()


def test_readers_see_whole_trees_while_a_writer_works(root: Path) -> None:
    create(root)
    over = threading.Event()
    problems: list[str] = []
    seen: set[str] = set()

    def read() -> None:
        with Store.open(root) as store:
            while not over.is_set():
                for digest in store.trees.digests():
                    tree = store.lookup(digest)
                    if tree and not over.is_set():
                        seen.add(digest)
                        for entry in tree.manifest.entries:
                            try:
                                if (tree.path / entry.path).stat().st_size != entry.size:
                                    problems.append(entry.path)
                            except FileNotFoundError:
                                if store.lookup(digest):
                                    problems.append(f"{entry.path} is missing")

    from gpustack_models.store import plan as planning
    from gpustack_models.store.collect import collect

    with Writer.start(root, TEST) as writer:
        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for number in range(8):
            digest = put(writer, {f"{name}/{number}": b"%d" % (number * name) for name in range(12)}).digest
            if number % 2:
                collect(writer, lambda snapshot, digest=digest: planning.removal_of(snapshot, digest))  # type: ignore[misc]
        over.set()
        for reader in readers:
            reader.join()
    assert problems == []
    assert seen
    assert check_visible(root) == 4


def test_what_a_crash_left_is_gone_and_the_rest_is_not(root: Path) -> None:
    with Writer.start(root, TEST) as writer:
        kept = put(writer, {"a": b"1"})
        staged = writer.trees.stage(kept, writer.blobs, 7)
    (root / "trees" / staged / "files").chmod(0o755)
    (root / "trash" / "something" / "deep").mkdir(parents=True)
    (root / "trash" / "something").chmod(0o555)
    (root / "ledger" / "uses" / ".tmp-1-2").write_text("{")
    (root / "partial" / ".tmp-9-9").write_text("half a copy")
    partial = root / "partial" / ("sha256-" + "0" * 64)
    partial.write_text("what a resume needs")
    withdrawn = root / "trash" / ("0" * 64 + ".withdrawn.1-0")
    withdrawn.mkdir()
    Writer.start(root, TEST).close()
    assert visible(root) == [kept.digest]
    assert os.listdir(root / "trees") == [kept.digest[7:]]
    assert os.listdir(root / "trash") == [withdrawn.name]
    assert os.listdir(root / "partial") == [partial.name]
    assert os.listdir(root / "ledger" / "uses") == [kept.digest[7:]]


def test_progress_is_read_by_another_process(root: Path) -> None:
    running = progress.Download("sha256:" + "0" * 64, "hf://a/b@c", 5, 10, 2.5, 1.0, "Hub", "Downloading")
    with Writer.start(root, Identity("x")) as writer, Store.open(root) as reader:
        assert progress.read(reader.root.ledger) == []
        progress.write(writer.root.ledger, [running])
        assert progress.read(reader.root.ledger) == [running]
        assert running.seconds_left == 2.0
        (root / "ledger" / "running").write_text('{"format": 2, "downloads": []}')
        assert progress.read(reader.root.ledger) == []


def test_a_manifest_of_nobody_is_not_published(root: Path) -> None:
    with Writer.start(root, TEST) as writer, pytest.raises(GsmError):
        writer.publish(manifest_of({"a": b"never there"}))
    assert visible(root) == []
