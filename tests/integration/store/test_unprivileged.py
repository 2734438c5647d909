"""Owns that a store works for an owner who is not root, whom its own read-only files and folders stop.

The work runs in a fork that gives its privileges up; as an ordinary user it runs as it is.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import plan as planning
from gpustack_models.store.collect import collect
from gpustack_models.store.mending import heal, withdraw
from gpustack_models.store.models import models
from gpustack_models.store.records import Reference
from gpustack_models.store.scrub import scrub
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Writer
from tests.integration.store.disk import TEST, MovedClock, check_visible, contents, put, visible

SOMEBODY = 4711
FILES = {"a/b/c": b"content", "a/d": b"more", "e": b""}


def as_somebody(work: Callable[[], None], user: int = SOMEBODY) -> None:
    """Run as an ordinary user; what fails there fails here."""
    if os.getuid():
        work()
        return
    child = os.fork()
    if not child:
        status = 1
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - a fork must end here, whatever happened
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of somebody's, in folders that anybody may pass."""
    folder = tmp_path / "somebodys"
    folder.mkdir()
    if not os.getuid():
        os.chown(folder, SOMEBODY, SOMEBODY)
        for above in (tmp_path, *tmp_path.parents):
            if os.stat(above).st_uid == 0 and above != Path("/"):
                above.chmod(os.stat(above).st_mode | 0o111)
    return folder


def test_all_of_a_trees_life(place: Path) -> None:
    root = place / "store"

    def work() -> None:
        clock = MovedClock()
        with Writer.start(root, TEST, clock) as writer:
            digest = put(writer, FILES).digest
            assert check_visible(root) == 1
            writer.reference(Reference("csi", "/1", digest, clock.now()))
            with pytest.raises(PermissionError):
                (root / "trees" / digest[7:] / "files" / "new").write_text("x")
            blob = next(iter(root.glob("blobs/sha256/*/*")))
            blob.chmod(0o644)
            blob.write_bytes(b"X" * blob.stat().st_size + b"X")
            withdraw(writer, scrub(writer))
            assert visible(root) == []
            manifest = put(writer, FILES)
            assert heal(writer, manifest) >= 1
            (withdrawn,) = (root / "trash").iterdir()
            assert contents(withdrawn / "files") == FILES
            writer.release("/1")
            clock.pass_(600)
            collect(writer, lambda snapshot: planning.plan(snapshot, snapshot.usage.used))
            assert visible(root) == []
            assert list((root / "trash").iterdir()) == []
            kept = put(writer, FILES)
            writer.trees.stage(kept, writer.blobs, 1)
        with Writer.start(root, TEST, clock):
            assert check_visible(root) == 1
            assert [path.name for path in (root / "trees").iterdir()] == [kept.digest[7:]]

    as_somebody(work)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two users")
def test_others_may_read_and_not_write(place: Path) -> None:
    root = place / "store"

    def make() -> None:
        with Writer.start(root, TEST) as writer:
            put(writer, FILES)

    def read() -> None:
        with Store.open(root) as store:
            (model,) = models(store)
            tree = store.lookup(model.digest)
            assert tree is not None
            assert contents(tree.path) == FILES
            assert scrub(store).passed
            assert store.holder() is None
        with pytest.raises(GsmError) as refused:
            Writer.start(root, TEST)
        assert refused.value.reason is Reason.STORAGE_FAILED
        assert "another user" in refused.value.hint

    as_somebody(make)
    as_somebody(read, SOMEBODY + 1)
