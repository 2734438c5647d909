"""Owns what a disk can do to a store at any step: be full, become read-only, fail. Nothing wrong is ever visible, and a
pull after it is well again finishes.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.hub_server import LocalHub
from gpustack_models.store.attempts import Offer
from gpustack_models.store.capacity import Watermarks
from gpustack_models.store.history import read
from gpustack_models.store.materialize import Answer
from gpustack_models.store.models import models
from gpustack_models.store.records import Reference
from gpustack_models.store.scrub import scrub
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Writer
from gpustack_models.workflows.pull import Wanted
from tests.integration.conftest import HubFactory, Publish
from tests.integration.store.disk import (
    TEST,
    MovedClock,
    check_visible,
    mounted,
    put,
    remount,
    small_disk,
    visible,
)
from tests.integration.store.hubs import bytes_of, fetch, store_at, wanted

FILES = {
    "config.json": "{}",
    "a/b/c.txt": "text",
    "a/same.txt": "text",
    "weights.bin": bytes_of(300_000, "weights"),
}


@pytest.fixture
def hub(publish: Publish, local_hub: HubFactory) -> LocalHub:
    publish("org/tiny", FILES)
    return local_hub(redirect=False)


@pytest.fixture
def want(hub: LocalHub) -> Wanted:
    return wanted(hub, "org/tiny")


def inodes_of_an_empty_store(at: Path) -> int:
    with small_disk(at, "size=8m,nr_inodes=1000"):
        Writer.start(at / "store", TEST).close()
        numbers = os.statvfs(at)
        return numbers.f_files - numbers.f_ffree


def pull(root: Path, want: Wanted) -> GsmError | None:
    """A pull, with the store's opening, as one process does it."""
    try:
        with store_at(root) as store:
            return fetch(store, want, now=True).error
    except GsmError as error:
        return error


def test_out_of_inodes_at_every_step(tmp_path: Path, want: Wanted) -> None:
    # tmpfs counts a name as an inode, so each file, link, folder and record of a pull is a step at which none is left.
    at = tmp_path / "disk"
    base = inodes_of_an_empty_store(at)
    steps = 0
    while True:
        with small_disk(at, f"size=8m,nr_inodes={base + steps}"):
            error = pull(at / "store", want)
            there = check_visible(at / "store") if (at / "store" / "trees").is_dir() else 0
            if error is None:
                assert there == 1
                break
            assert (error.reason, there) == (Reason.INSUFFICIENT_CAPACITY, 0), (steps, error)
            remount(at, "size=8m,nr_inodes=1000")
            assert pull(at / "store", want) is None
            assert check_visible(at / "store") == 1
            with Store.open(at / "store") as store:
                assert scrub(store).passed
        steps += 1
    assert steps > 10


def test_out_of_blocks_at_every_step(tmp_path: Path, want: Wanted) -> None:
    at = tmp_path / "disk"
    reasons = []
    for pages in range(0, 120, 3):
        with small_disk(at, f"size={pages * 4 + 16}k,nr_inodes=1000"):
            error = pull(at / "store", want)
            if (at / "store" / "trees").is_dir():
                assert check_visible(at / "store") == (error is None)
            reasons.append(error and error.reason)
            if error:
                remount(at, "size=8m,nr_inodes=1000")
                assert pull(at / "store", want) is None
                assert check_visible(at / "store") == 1
    assert set(reasons) == {Reason.INSUFFICIENT_CAPACITY, None}


def fill(at: Path, leave: int) -> Path:
    """What another program does meanwhile: take the disk but for some bytes."""
    numbers = os.statvfs(at)
    filler = at / "somebody elses"
    with filler.open("wb") as file, suppress(OSError):
        file.write(b"x" * (numbers.f_bavail * numbers.f_frsize - leave))
    return filler


def test_a_disk_that_fills_meanwhile(tmp_path: Path, publish: Publish, hub: LocalHub) -> None:
    publish("org/big", {"weights.bin": bytes_of(4 << 20, "big"), "config.json": "{}"})
    want = wanted(hub, "org/big")
    with small_disk(tmp_path / "disk", "size=16m") as at, store_at(at / "store") as store:
        kept = put(store._writer, {"a": b"kept"})
        hub.fault("slow", "*weights.bin", at=3 << 20)
        answer = store.ask(want.digest, want.offers)
        while not store.downloads()[0].downloaded > 1 << 20:
            store.wait(Answer(), 0.02)
        filler = fill(at, 64 << 10)
        while not answer.final:
            answer = store.wait(answer, 1)
        assert answer.error is not None
        assert answer.error.reason is Reason.INSUFFICIENT_CAPACITY
        assert visible(at / "store") == [kept.digest]
        # On the full disk everything that reads goes on, and the reason is told again at once.
        assert store.ask(want.digest, want.offers).error is not None
        assert {model.digest for model in models(store._writer)} >= {kept.digest}
        filler.unlink()
        hub.unfault()
        assert fetch(store, want, now=True).tree is not None
        assert check_visible(at / "store") == 2


def test_a_reference_that_cannot_be_written_refuses_the_mount(tmp_path: Path, clock: MovedClock) -> None:
    base = inodes_of_an_empty_store(tmp_path / "disk")
    with (
        small_disk(tmp_path / "disk", f"size=8m,nr_inodes={base + 12}") as at,
        Writer.start(at / "store", TEST, clock) as writer,
    ):
        digest = put(writer, {"a": b"1"}).digest
        writer.reference(Reference("csi-1", "/pods/1", digest, clock.now()))
        for number in range(100):
            with suppress(OSError):
                (at / str(number)).touch()
        with pytest.raises(GsmError) as refused:
            writer.reference(Reference("csi-2", "/pods/2", digest, clock.now()))
        assert refused.value.reason is Reason.INSUFFICIENT_CAPACITY
        assert [each.target for each in writer.ledger.all(Reference)] == ["/pods/1"]
        # Unmounting and collecting need no room.
        assert writer.release("/pods/1") is not None
        assert list(writer.ledger.all(Reference)) == []


def test_a_full_disk_can_be_collected(tmp_path: Path, clock: MovedClock) -> None:
    from gpustack_models.store import plan as planning
    from gpustack_models.store.collect import collect

    with small_disk(tmp_path / "disk", "size=2m") as at:
        with Writer.start(at / "store", TEST, clock) as writer:
            put(writer, {"a": b"x" * 500_000})
        clock.pass_(600)
        fill(at, 0)
        with Writer.start(at / "store", TEST, clock) as writer:
            assert os.statvfs(at).f_bavail == 0
            plan = collect(writer, lambda snapshot: planning.plan(snapshot, 1))
        assert [each.kind for each in plan.removals] == ["tree"]
        assert os.statvfs(at).f_bavail * 4096 > 450_000


@pytest.mark.parametrize(
    ("held", "fits"),
    [("nothing", True), ("pinned", False), ("referenced", False), ("used a moment ago", False)],
)
def test_room_is_made_by_what_nobody_needs(
    tmp_path: Path, clock: MovedClock, hub: LocalHub, publish: Publish, held: str, fits: bool
) -> None:
    publish("org/big", {"weights.bin": bytes_of(3 << 20, "big")})
    want = wanted(hub, "org/big")
    marks = Watermarks(90, 50)
    with small_disk(tmp_path / "disk", "size=6m") as at:
        with Writer.start(at / "store", TEST, clock) as writer:
            old = put(writer, {"a": bytes_of(3 << 20, "old")}).digest
            if held == "pinned":
                writer.pin(old)
            if held == "referenced":
                writer.reference(Reference("csi-1", "/pods/1", old, clock.now()))
        clock.pass_(10 if held == "used a moment ago" else 600)
        hub.forget()
        with store_at(at / "store", clock, marks) as store:
            answer = fetch(store, want)
        if fits:
            assert answer.tree is not None, answer.error
            assert visible(at / "store") == [want.digest]
            return
        assert answer.error is not None
        assert answer.error.reason is Reason.INSUFFICIENT_CAPACITY
        assert "below the high watermark of 90%" in answer.error.message
        # Nothing was written, and nothing removed in vain.
        assert visible(at / "store") == [old]
        assert os.listdir(at / "store" / "partial") == []
        assert hub.requests == []
        with Store.open(at / "store") as reader:
            assert "removed" not in {event.event for event in read(reader.root.ledger)}


def test_two_attempts_never_reserve_the_same_room(tmp_path: Path, hub: LocalHub, publish: Publish) -> None:
    for name in ("one", "two"):
        publish(f"org/{name}", {"weights.bin": bytes_of(3 << 20, name)})
    first, second = wanted(hub, "org/one"), wanted(hub, "org/two")
    hub.fault("slow", "*weights.bin", at=2 << 20)
    with small_disk(tmp_path / "disk", "size=5m") as at, store_at(at / "store") as store:
        store.ask(first.digest, first.offers)
        while not store.downloads()[0].downloaded:
            store.wait(Answer(), 0.02)
        refused = fetch(store, second)
        assert refused.error is not None
        assert refused.error.reason is Reason.INSUFFICIENT_CAPACITY
        hub.unfault()
        assert fetch(store, first).tree is not None
        assert check_visible(at / "store") == 1


@contextmanager
def failing_disk(folder: Path) -> Iterator[tuple[Path, Path]]:
    """An ext4 of its own that turns read-only at its first error; and the file that makes it meet one."""
    image = folder / "image"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    with mounted(folder / "disk", "-o", "loop,errors=remount-ro", str(image)) as at:
        command = ["findmnt", "-no", "SOURCE", str(at)]
        device = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        yield at, Path("/sys/fs/ext4") / Path(device).name / "trigger_fs_error"


def again(folder: Path) -> None:
    """What an administrator does: check the disk, and mount it again."""
    subprocess.run(["umount", str(folder / "disk")], check=True)
    checked = subprocess.run(["fsck.ext4", "-fy", str(folder / "image")], capture_output=True, text=True, check=False)
    assert checked.returncode < 4, checked.stdout
    subprocess.run(["mount", "-o", "loop", str(folder / "image"), str(folder / "disk")], check=True)


@pytest.mark.parametrize("when", ["listing", "downloading"])
def test_a_disk_that_turns_read_only(tmp_path: Path, hub: LocalHub, publish: Publish, when: str) -> None:
    publish("org/big", {"weights.bin": bytes_of(4 << 20, "big"), "config.json": "{}"})
    want = wanted(hub, "org/big")
    with failing_disk(tmp_path) as (at, trigger):
        with store_at(at / "store") as store:
            kept = put(store._writer, {"a": b"kept"}).digest
            hub.fault("slow", "*weights.bin", at=2 << 20)
            offers = want.offers
            if when == "listing":
                (offer,) = want.offers
                listed = offer.manifest

                def fail() -> object:
                    trigger.write_text("a test")
                    return listed()

                offers = (Offer(offer.key, offer.origin, fail, offer.source),)  # type: ignore[arg-type]
            answer = store.ask(want.digest, offers)
            if when == "downloading":
                while not store.downloads()[0].downloaded:
                    store.wait(Answer(), 0.02)
                trigger.write_text("a test")
            while not answer.final:
                answer = store.wait(answer, 1)
            assert answer.error is not None
            assert answer.error.reason is Reason.STORAGE_FAILED, answer.error
            # Readers go on.
            assert store.ask(kept, []).tree is not None
            assert check_visible(at / "store") == 1
        with pytest.raises(GsmError) as refused:
            Writer.start(at / "store", TEST)
        assert refused.value.reason is Reason.STORAGE_FAILED
        assert "Read-only" in refused.value.message
        with Store.open(at / "store") as reader:
            assert reader.lookup(kept) is not None
            assert scrub(reader).passed
        again(tmp_path)
        hub.unfault()
        assert check_visible(at / "store") == 1
        assert pull(at / "store", want) is None
        assert check_visible(at / "store") == 2
