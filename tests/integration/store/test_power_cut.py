"""Owns what a power cut leaves: ext4 is shut down without writing its journal, at any instant, and mounted again.

What was only in memory is lost then, as it is when a machine loses power; what was synced is not.
"""

from __future__ import annotations

import fcntl
import os
import random
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from gpustack_models.errors import GsmError
from gpustack_models.hub_server import LocalHub
from gpustack_models.store.collect import collect
from gpustack_models.store.materialize import Answer
from gpustack_models.store.plan import removal_of
from gpustack_models.store.records import Pin, Reference
from gpustack_models.store.scrub import scrub
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Writer
from gpustack_models.workflows.pull import Wanted
from tests.integration.conftest import HubFactory, Publish
from tests.integration.store.disk import TEST, check_visible, mounted, put, visible
from tests.integration.store.hubs import bytes_of, fetch, store_at, wanted

#: EXT4_IOC_SHUTDOWN, and its flag for "no log flush" (linux/fs/ext4/ext4.h).
_SHUTDOWN, _NO_LOG_FLUSH = 0x8004587D, 2
ROUNDS = 12


def cut(at: Path) -> None:
    """Pull the plug of a filesystem: nothing that is in memory alone gets to the disk any more."""
    handle = os.open(at, os.O_RDONLY)
    try:
        fcntl.ioctl(handle, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
    finally:
        os.close(handle)


class Disk:
    """An ext4 in a file, which can lose its power and be mounted again."""

    def __init__(self, folder: Path) -> None:
        self.image, self.at = folder / "image", folder / "disk"
        with self.image.open("wb") as file:
            file.truncate(96 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self.image)], check=True)

    @contextmanager
    def on(self) -> Iterator[Path]:
        with mounted(self.at, "-o", "loop", str(self.image)):
            yield self.at / "store"


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


@pytest.fixture
def hub(publish: Publish, local_hub: HubFactory) -> LocalHub:
    large = bytes_of(3 << 20, "large")
    for number in range(3):
        small = {f"{number}/{each}.json": f'{{"of": {number}, "n": {each}}}' for each in range(40)}
        publish(f"org/m{number}", {"shared.bin": large, f"own-{number}.bin": bytes_of(1 << 20, str(number)), **small})
    return local_hub(redirect=False)


@pytest.fixture
def wants(hub: LocalHub) -> list[Wanted]:
    return [wanted(hub, f"org/m{number}") for number in range(3)]


def test_what_was_said_to_be_there_is_there(disk: Disk, wants: list[Wanted]) -> None:
    with disk.on() as root, store_at(root) as store:
        assert fetch(store, wants[0]).tree is not None
        cut(disk.at)
    with disk.on() as root:
        assert visible(root) == [wants[0].digest]
        assert check_visible(root) == 1
        with Store.open(root) as reader:
            assert scrub(reader).passed
        with Writer.start(root, TEST) as writer:
            writer.pin(wants[1].digest)
            writer.reference(Reference("csi", "/pods/1", wants[0].digest, writer.clock.now()))
            cut(disk.at)
    with disk.on() as root, Store.open(root) as reader:
        assert [pin.digest for pin in reader.ledger.all(Pin)] == [wants[1].digest]
        assert [reference.target for reference in reader.ledger.all(Reference)] == ["/pods/1"]


def test_a_cut_at_any_instant_of_a_pull(disk: Disk, wants: list[Wanted]) -> None:
    chance = random.Random(time.time_ns())
    with disk.on() as root, store_at(root) as store:
        began = time.monotonic()
        assert fetch(store, wants[0]).tree is not None
        usual = time.monotonic() - began
    for number in range(ROUNDS):
        with disk.on() as root, suppress(GsmError), store_at(root) as store:
            for want in wants:
                store.ask(want.digest, want.offers, now=True)
            until = time.monotonic() + chance.uniform(0, 2 * usual)
            while time.monotonic() < until:
                store.wait(Answer(), 0.01)
            cut(disk.at)
        with disk.on() as root:
            check_visible(root)
            with store_at(root) as store:
                for want in wants:
                    assert fetch(store, want, now=True).tree is not None, number
            assert check_visible(root) == 3
            with Writer.start(root, TEST) as writer:
                for want in wants[: chance.choice((1, 2, 3))]:
                    digest = want.digest
                    collect(writer, lambda snapshot, digest=digest: removal_of(snapshot, digest))  # type: ignore[misc]
                if chance.random() < 0.5:
                    cut(disk.at)
        with disk.on() as root:
            check_visible(root)


def test_a_cut_while_trees_come_and_go(disk: Disk) -> None:
    chance = random.Random(time.time_ns())
    for number in range(ROUNDS):
        with disk.on() as root, Writer.start(root, TEST) as writer:
            kept = put(writer, {"kept": b"%d" % number, "shared": b"shared"}).digest
            for each in range(chance.randrange(6)):
                digest = put(writer, {"goes": b"%d-%d" % (number, each), "shared": b"shared"}).digest
                collect(writer, lambda snapshot, digest=digest: removal_of(snapshot, digest))  # type: ignore[misc]
            cut(disk.at)
        with disk.on() as root:
            assert kept in visible(root)
            assert check_visible(root) == number + 1
            with Store.open(root) as reader:
                assert scrub(reader).passed
