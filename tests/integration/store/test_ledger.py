"""Owns that the ledger and the history outlive crashes and restarts, stay bounded, and refuse what they do not know."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import history
from gpustack_models.store.models import State, models
from gpustack_models.store.records import Asked, Failure, Pin, Reference, Use
from gpustack_models.store.references import Mounted
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Writer
from tests.integration.store.disk import DAY, TEST, MovedClock, put


def test_references_and_pins_outlive_a_restart(root: Path, clock: MovedClock) -> None:
    with Writer.start(root, TEST, clock) as writer:
        first, second = put(writer, {"a": b"1"}).digest, put(writer, {"a": b"2"}).digest
        writer.reference(Reference("csi-1", "/pods/1", first, clock.now()))
        writer.pin(second, "why")
    with Writer.start(root, TEST, clock) as writer:
        assert [(each.volume, each.target, each.digest) for each in writer.ledger.all(Reference)] == [
            ("csi-1", "/pods/1", first)
        ]
        pin = writer.ledger.get(Pin, second)
        assert pin is not None
        assert pin.note == "why"
        assert writer.unpin(second)
        assert not writer.unpin(second)


def test_a_note_stays_when_a_pin_is_written_again_without_one(writer: Writer) -> None:
    digest = put(writer, {"a": b"1"}).digest
    writer.pin(digest, "why")
    assert writer.pin(digest).note == "why"
    assert writer.pin(digest, "because").note == "because"


def test_a_digest_that_is_not_published_is_told_from_one_that_is_unknown(writer: Writer) -> None:
    digest = put(writer, {"a": b"1"}).digest
    writer.pin("sha256:" + "0" * 64, "for later")
    assert writer.digest(digest[:12], published=True) == digest
    for prefix, words in (("sha256:0", "is not published"), ("0000", "is not published"), ("sha256:zz", "nothing by")):
        with pytest.raises(GsmError, match=words) as caught:
            writer.digest(prefix, published=True)
        assert caught.value.reason is Reason.NOT_FOUND


def test_a_target_is_referenced_once(writer: Writer, clock: MovedClock) -> None:
    first, second = put(writer, {"a": b"1"}).digest, put(writer, {"a": b"2"}).digest
    target = "/var/lib/kubelet/pods/" + "x" * 3000
    for digest in (first, first, second):
        writer.reference(Reference("csi-1", target, digest, clock.now()))
    assert [each.digest for each in writer.ledger.all(Reference)] == [second]


def test_what_is_mounted_wins_after_a_restart(writer: Writer, clock: MovedClock) -> None:
    first, second = put(writer, {"a": b"1"}).digest, put(writer, {"a": b"2"}).digest
    for target, digest in (("/kept", first), ("/gone", first), ("/other", first)):
        writer.reference(Reference("csi", target, digest, clock.now()))
    writer.reconcile([Mounted("/kept", first), Mounted("/other", second), Mounted("/new", second, "csi-9")])
    assert {each.target: (each.volume, each.digest) for each in writer.ledger.all(Reference)} == {
        "/kept": ("csi", first),
        "/other": ("csi", second),
        "/new": ("csi-9", second),
    }


def test_a_use_is_not_written_at_every_lookup(root: Path, writer: Writer, clock: MovedClock) -> None:
    digest = put(writer, {"a": b"1"}).digest
    record = root / "ledger" / "uses" / digest[7:]
    written = os.stat(record).st_ino
    for _ in range(100):
        writer.touch(digest)
    assert os.stat(record).st_ino == written
    clock.pass_(60)
    writer.touch(digest)
    assert os.stat(record).st_ino != written
    use = writer.ledger.get(Use, digest)
    assert use is not None
    assert use.last == clock.now()


def test_names_are_kept_and_bounded(writer: Writer) -> None:
    digest = put(writer, {"a": b"1"}).digest
    for number in range(40):
        writer.touch(digest, [f"hf://org/m{number}@{'0' * 40}"])
    use = writer.ledger.get(Use, digest)
    assert use is not None
    assert len(use.names) == 16
    assert use.names[-1].startswith("hf://org/m39@")


KINDS: dict[str, Any] = {"references": Reference, "pins": Pin, "uses": Use, "failures": Failure, "attempts": Asked}


@pytest.mark.parametrize("folder", KINDS)
def test_a_record_of_another_format_is_refused(root: Path, writer: Writer, folder: str) -> None:
    digest = put(writer, {"a": b"1"}).digest
    (root / "ledger" / folder / digest[7:]).write_text('{"format": 2, "kind": "something new"}')
    with pytest.raises(GsmError) as refused:
        list(writer.ledger.all(KINDS[folder]))
    assert refused.value.reason is Reason.UNKNOWN_FORMAT
    assert folder in refused.value.message


def test_the_history_is_bounded_and_ordered(root: Path, writer: Writer) -> None:
    for number in range(12_000):
        writer.log("counted", "", number=number, text="x" * 100)
    total = sum(os.stat(root / "ledger" / name).st_size for name in ("history", "history.1"))
    assert total < 2 * history.MAX_BYTES + 1000
    numbers = [event.details["number"] for event in history.read(writer.root.ledger)]
    assert numbers[-1] == 11_999
    assert numbers == list(range(numbers[0], 12_000))


def test_a_torn_line_costs_itself_alone(root: Path, writer: Writer) -> None:
    writer.log("first")
    with (root / "ledger" / "history").open("a") as file:
        file.write('{"time": 1, "event": "to')
    writer.log("second")
    assert [event.event for event in history.read(writer.root.ledger)] == ["first", "second"]
    (root / "ledger" / "history").write_text('{"format": 2}\n')
    with pytest.raises(GsmError) as refused:
        history.read(writer.root.ledger)
    assert refused.value.reason is Reason.UNKNOWN_FORMAT


def test_states(root: Path, clock: MovedClock) -> None:
    with Writer.start(root, TEST, clock) as writer:
        ready = put(writer, {"a": b"1"}).digest
        clock.pass_(DAY)
        absent = "sha256:" + "0" * 64
        writer.pin(absent)
    with Store.open(root, clock) as store:
        assert {model.digest: model.state for model in models(store)} == {ready: State.READY, absent: State.ABSENT}
