"""Owns that a collection does exactly what its plan says, and that what is referenced, pinned or wanted survives it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import plan as planning
from gpustack_models.store.collect import check_removable, collect, execute
from gpustack_models.store.facts import Snapshot
from gpustack_models.store.history import read
from gpustack_models.store.plan import Plan
from gpustack_models.store.records import Asked, Failure, Pin, Reference, Use
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Writer
from tests.integration.store.disk import (
    DAY,
    TEST,
    MovedClock,
    adopt,
    check_visible,
    manifest_of,
    name_of,
    put,
    visible,
)

TARGET = "/var/lib/kubelet/pods/1/volumes/model"


def all_of_it(snapshot: Snapshot) -> Plan:
    """What a target of 0 % decides."""
    return planning.plan(snapshot, snapshot.usage.used)


def reference(writer: Writer, digest: str, target: str = TARGET) -> None:
    writer.reference(Reference("csi-1", target, digest, writer.clock.now()))


def test_a_target_of_nothing_leaves_what_is_held(root: Path, writer: Writer, clock: MovedClock) -> None:
    pinned, referenced = put(writer, {"a": b"pinned"}), put(writer, {"a": b"referenced"})
    put(writer, {"a": b"old", "b": b"pinned"})
    writer.pin(pinned.digest, "a demo")
    reference(writer, referenced.digest)
    clock.pass_(600)
    recent = put(writer, {"a": b"recent"})
    plan = all_of_it(writer.snapshot())
    assert plan.kept == planning.Kept(referenced=1, pinned=1, recent=1)
    done = execute(writer, plan, all_of_it)
    assert done == plan
    assert visible(root) == sorted((pinned.digest, referenced.digest, recent.digest))
    assert check_visible(root) == 3
    assert writer.blobs.find(name_of(b"old")) is None
    assert writer.blobs.find(name_of(b"pinned")) is not None
    assert os.listdir(root / "trash") == []


def test_released_is_unreferenced_from_then_on(root: Path, writer: Writer, clock: MovedClock) -> None:
    digest = put(writer, {"a": b"1"}).digest
    reference(writer, digest)
    clock.pass_(9 * DAY)
    released = writer.release(TARGET)
    assert released is not None
    assert released.digest == digest
    clock.pass_(599)
    assert collect(writer, all_of_it).removals == ()
    clock.pass_(1)
    assert [each.name for each in collect(writer, all_of_it).removals] == [digest]
    assert writer.release(TARGET) is None


def test_two_mounts_are_two_references(root: Path, writer: Writer, clock: MovedClock) -> None:
    digest = put(writer, {"a": b"1"}).digest
    reference(writer, digest, "/one")
    reference(writer, digest, "/two")
    writer.release("/one")
    clock.pass_(DAY)
    assert collect(writer, all_of_it).removals == ()


def test_a_reference_needs_a_tree(writer: Writer) -> None:
    with pytest.raises(GsmError) as refused:
        reference(writer, "sha256:" + "0" * 64)
    assert refused.value.reason is Reason.NOT_FOUND


def test_what_changed_since_the_plan_stays(root: Path, writer: Writer, clock: MovedClock) -> None:
    first, second = put(writer, {"a": b"1", "s": b"shared"}), put(writer, {"a": b"2"})
    adopt(writer, b"orphan")
    clock.pass_(DAY)
    plan = all_of_it(writer.snapshot())
    assert len(plan.removals) == 3
    # Between the plan and its execution one tree is mounted, and another begins to need the orphan and a shared file.
    reference(writer, second.digest)
    third = manifest_of({"o": b"orphan", "s": b"shared"})
    writer.begin(third.digest, third)
    execute(writer, plan, all_of_it)
    writer.publish(third)
    assert visible(root) == sorted((second.digest, third.digest))
    assert check_visible(root) == 2
    assert writer.lookup(first.digest) is None


def test_references_that_cannot_be_read_keep_everything(root: Path, writer: Writer, clock: MovedClock) -> None:
    put(writer, {"a": b"1"})
    clock.pass_(DAY)
    (root / "ledger" / "references" / ("0" * 64)).write_text('{"format": 2}')
    with pytest.raises(GsmError) as refused:
        collect(writer, all_of_it)
    assert refused.value.reason is Reason.UNKNOWN_FORMAT
    assert check_visible(root) == 1


def test_unfinished_downloads_are_kept_for_a_day(root: Path, writer: Writer, clock: MovedClock) -> None:
    manifest = manifest_of({"a": b"done", "b": b"half"})
    adopt(writer, b"done")
    (root / "partial" / f"sha256-{name_of(b'half').hex}").write_bytes(b"ha")
    writer.pending.put(manifest)
    writer.ledger.put(Asked(manifest.digest, 1, clock.now()))
    clock.pass_(DAY - 1)
    assert collect(writer, all_of_it).removals == ()
    assert writer.blobs.find(name_of(b"done")) is not None
    clock.pass_(1)
    (removal,) = collect(writer, all_of_it).removals
    assert (removal.kind, removal.name, len(removal.blobs), len(removal.partials)) == ("partial", manifest.digest, 1, 1)
    assert os.listdir(root / "partial") == []
    assert writer.known() == set()


def test_failure_records_go_after_a_day(writer: Writer, clock: MovedClock) -> None:
    digest = "sha256:" + "0" * 64
    writer.ledger.put(Failure(digest, 1, Reason.ACCESS_DENIED, "no", clock.now()))
    clock.pass_(DAY)
    assert [each.kind for each in collect(writer, all_of_it).removals] == ["failure"]
    assert writer.ledger.get(Failure, digest) is None


def test_the_records_of_a_removed_tree_go_with_it(writer: Writer, clock: MovedClock) -> None:
    digest = put(writer, {"a": b"1"}).digest
    assert writer.ledger.get(Use, digest) is not None
    clock.pass_(DAY)
    collect(writer, all_of_it)
    assert writer.known() == set()


@pytest.mark.parametrize("hold", ["pin", "reference"])
def test_by_name_is_refused_while_it_is_held(writer: Writer, hold: str) -> None:
    digest = put(writer, {"a": b"1"}).digest
    if hold == "pin":
        writer.pin(digest)
    else:
        reference(writer, digest)
    with pytest.raises(GsmError) as refused:
        check_removable(writer, digest)
    assert refused.value.reason is Reason.REFUSED


def test_what_went_is_told(root: Path, writer: Writer, clock: MovedClock) -> None:
    digest = put(writer, {"a": b"1"}).digest
    clock.pass_(DAY)
    collect(writer, all_of_it)
    event = read(writer.root.ledger)[-1]
    assert (event.event, event.digest, event.details["why"]) == (
        "removed",
        digest,
        "unreferenced, last used 1 day ago",
    )


@pytest.mark.parametrize(
    ("wall", "passed", "reboot", "goes"),
    [
        pytest.param(900 * DAY, 0, False, False, id="set forward"),
        pytest.param(-900 * DAY, 0, False, False, id="set back"),
        pytest.param(-900 * DAY, 600, False, True, id="set back, and ten minutes passed"),
        pytest.param(0, 600, True, True, id="a reboot, and ten minutes passed"),
        pytest.param(-900 * DAY, 599, True, False, id="a reboot, and the clock lost"),
        pytest.param(-900 * DAY, 600, True, True, id="a reboot, the clock lost, and ten minutes passed"),
    ],
)
@pytest.mark.parametrize("restart", [False, True], ids=["same process", "another process"])
def test_a_clock_that_jumps_deletes_nothing_early(
    root: Path, clock: MovedClock, wall: float, passed: float, reboot: bool, goes: bool, restart: bool
) -> None:
    writer = Writer.start(root, TEST, clock)
    put(writer, {"a": b"1"})
    if restart:
        writer.close()
        writer = Writer.start(root, TEST, clock)
    if reboot:
        clock.reboot()
    clock.pass_(passed)
    clock.wall += wall
    with writer:
        assert bool(collect(writer, all_of_it).removals) is goes


def test_a_lost_record_of_use_never_makes_a_tree_old(root: Path, clock: MovedClock) -> None:
    # Without the record a tree is as old as its manifest, which the machine's clock dates after the moved one.
    with Writer.start(root, TEST, clock) as writer:
        digest = put(writer, {"a": b"1"}).digest
    os.unlink(root / "ledger" / "uses" / digest[7:])
    with Writer.start(root, TEST, clock) as writer:
        assert collect(writer, all_of_it).removals == ()
        clock.wall = os.stat(root / "trees" / digest[7:] / "manifest").st_mtime + 600
        assert [each.name for each in collect(writer, all_of_it).removals] == [digest]


def test_a_reader_sees_the_very_plan(root: Path, writer: Writer, clock: MovedClock) -> None:
    from gpustack_models.store.scan import Scanner

    for number in range(5):
        put(writer, {"a": b"%d" % number, "b": b"shared"})
        clock.pass_(60)
    writer.pin(put(writer, {"a": b"x"}).digest)
    clock.pass_(DAY)
    with Store.open(root, clock) as reader:
        shown = all_of_it(Scanner(reader).snapshot())
    assert len(shown.removals) == 5
    assert collect(writer, all_of_it).removals == shown.removals
    assert next(writer.ledger.all(Pin)).digest in visible(root)
