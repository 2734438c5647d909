"""Owns that a folder is adopted without a second copy of its bytes, checked to the last one, and comes out the same."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from gpustack_models.core.refs import HubKind, HubRef
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.adopting import How
from gpustack_models.store.exporting import export
from gpustack_models.store.importing import Options
from gpustack_models.store.models import State, models
from gpustack_models.store.writer import Writer
from gpustack_models.workflows.adopt import adopt, folder_for
from tests.integration.store.disk import (
    GITSHA1,
    TEST,
    check_visible,
    contents,
    manifest_of,
    name_of,
    put,
    reflinking_disk,
    small_disk,
    visible,
)
from tests.integration.store.hubs import FULL, bytes_of

FILES = {
    "config.json": b"{}",
    "a/b c.txt": b"text",
    "empty": b"",
    "copy/of/empty": b"",
    "model.safetensors": bytes_of(30 << 20, "model"),
}


def write(place: Path) -> Path:
    for path, data in FILES.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(data)
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "folder")


def taken(*paths: Path) -> int:
    """Bytes on disk, a file with several names counted once."""
    command = ["du", "-sc", "--block-size=1", *map(str, paths)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(output.splitlines()[-1].split()[0])


def test_no_byte_is_written_twice(root: Path, folder: Path) -> None:
    manifest = manifest_of(FILES)
    with Writer.start(root, TEST) as writer:
        before = taken(folder, root)
        done = adopt(writer, folder, manifest, Options(), FULL, "hf://org/tiny@" + "0" * 40)
        assert done.imported.bytes[How.COPY] == 0
        assert done.imported.files[How.LINK] + done.imported.files[How.REFLINK] == 4  # the two empty files are one
    assert taken(folder, root) - before < 1 << 20
    assert check_visible(root) == 1
    assert contents(done.tree.path) == FILES == contents(folder)


def test_both_digests_of_what_was_imported_are_known(root: Path, folder: Path) -> None:
    with Writer.start(root, TEST) as writer:
        adopt(writer, folder, manifest_of(FILES, GITSHA1), Options(), FULL)
        assert writer.blobs.find(name_of(b"{}")) is not None
        assert writer.blobs.find(name_of(b"{}", GITSHA1)) is not None


def test_a_shared_file_is_read_only_where_it_was(root: Path, folder: Path) -> None:
    with Writer.start(root, TEST) as writer:
        done = adopt(writer, folder, manifest_of(FILES), Options(), FULL)
        if done.imported.files[How.LINK]:
            assert os.stat(folder / "config.json").st_mode & 0o222 == 0


def test_with_copy_the_folder_stays_its_own(root: Path, folder: Path) -> None:
    with Writer.start(root, TEST) as writer:
        done = adopt(writer, folder, manifest_of(FILES), Options(copy=True), FULL)
        assert done.imported.files[How.LINK] == 0
    (folder / "config.json").write_bytes(b"[]")
    assert os.stat(folder / "model.safetensors").st_mode & 0o200
    assert check_visible(root) == 1


def test_another_users_file_is_copied(root: Path, folder: Path) -> None:
    os.chown(folder / "model.safetensors", 4711, 4711)
    with Writer.start(root, TEST) as writer:
        done = adopt(writer, folder, manifest_of(FILES), Options(), FULL)
        assert done.imported.files[How.COPY] + done.imported.files[How.REFLINK] >= 1
    found = os.stat(folder / "model.safetensors")
    assert (found.st_uid, found.st_mode & 0o200, found.st_nlink) == (4711, 0o200, 1)


def test_a_file_that_is_open_for_writing_is_copied(root: Path, folder: Path) -> None:
    with Writer.start(root, TEST) as writer, (folder / "config.json").open("r+b"):
        done = adopt(writer, folder, manifest_of(FILES), Options(), FULL)
        assert done.imported.files[How.COPY] + done.imported.files[How.REFLINK] >= 1
    assert os.stat(folder / "config.json").st_nlink == 1


def test_a_writer_that_comes_while_it_is_hashed_changes_nothing(root: Path, folder: Path) -> None:
    began = threading.Event()

    def progress(_count: int) -> None:
        if not began.is_set():
            began.set()
            # Opening for writing waits for the lease, or comes at once where there is none; either way it is seen.
            writing.start()
            writing.join(0.3)

    def write() -> None:
        with (folder / "model.safetensors").open("r+b") as file:
            file.seek(29 << 20)
            file.write(b"X" * 100)

    writing = threading.Thread(target=write)
    with Writer.start(root, TEST) as writer:
        # Whether the copy is made before or after the write, is a matter of luck; that it is right, is not.
        with suppress(GsmError):
            adopt(writer, folder, manifest_of(FILES), Options(progress=progress), FULL)
        writing.join()
    check_visible(root)
    assert (folder / "model.safetensors").read_bytes()[29 << 20 :].startswith(b"X" * 100)


DAMAGE = {
    "one byte": (lambda folder: flip(folder / "model.safetensors", 12_345_678), Reason.INTEGRITY_MISMATCH, "1 differ"),
    "one byte too few": (lambda folder: os.truncate(folder / "config.json", 1), Reason.INTEGRITY_MISMATCH, "1 differ"),
    "one file missing": (lambda folder: os.unlink(folder / "a/b c.txt"), Reason.NOT_FOUND, "1 are not there"),
}


def flip(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        old = file.read(1)
        file.seek(at)
        file.write(bytes([old[0] ^ 1]))


@pytest.mark.parametrize(("damage", "reason", "why"), DAMAGE.values(), ids=DAMAGE.keys())
def test_what_differs_is_not_published_and_what_does_not_is_kept(
    root: Path, folder: Path, damage: object, reason: Reason, why: str
) -> None:
    assert callable(damage)
    damage(folder)
    modes = {path: os.stat(folder / path).st_mode for path in FILES if (folder / path).exists()}
    manifest = manifest_of(FILES)
    with Writer.start(root, TEST) as writer:
        with pytest.raises(GsmError, match=why) as refused:
            adopt(writer, folder, manifest, Options(), FULL)
        assert refused.value.reason is reason
        assert visible(root) == []
        (model,) = models(writer)
        assert model.state is State.INCOMPLETE
        held = [path for path, data in FILES.items() if writer.blobs.find(name_of(data))]
        assert len(held) == len(FILES) - 1
        # What was not taken is as it was.
        for path, mode in modes.items():
            if path not in held:
                assert os.stat(folder / path).st_mode == mode
        assert [name for name in os.listdir(root / "partial") if name.startswith(".tmp")] == []


def test_from_another_filesystem_it_is_copied_if_it_fits(tmp_path: Path, folder: Path) -> None:
    with small_disk(tmp_path / "small", "size=20m") as disk, Writer.start(disk / "store", TEST) as writer:
        with pytest.raises(GsmError) as refused:
            adopt(writer, folder, manifest_of(FILES), Options(), FULL)
        assert refused.value.reason is Reason.INSUFFICIENT_CAPACITY
        assert list(writer.blobs.all()) == []
    with small_disk(tmp_path / "large", "size=64m") as disk, Writer.start(disk / "store", TEST) as writer:
        done = adopt(writer, folder, manifest_of(FILES), Options(), FULL)
        assert done.imported.files[How.COPY] == 4
        assert check_visible(disk / "store") == 1


def test_a_reflink_leaves_the_source_its_own(tmp_path: Path) -> None:
    with reflinking_disk(tmp_path) as disk:
        write(disk / "folder")
        os.sync()
        free = os.statvfs(disk).f_bavail
        with Writer.start(disk / "store", TEST) as writer:
            done = adopt(writer, disk / "folder", manifest_of(FILES), Options(), FULL)
        os.sync()
        numbers = os.statvfs(disk)
        assert (free - numbers.f_bavail) * numbers.f_frsize < 4 << 20
        assert done.imported.files[How.COPY] == done.imported.files[How.LINK] == 0
        assert os.stat(disk / "folder/model.safetensors").st_nlink == 1
        (disk / "folder/config.json").write_bytes(b"[]")
        flip(disk / "folder/model.safetensors", 5)
        assert check_visible(disk / "store") == 1


def test_a_link_out_of_the_folder_is_refused(root: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"{}")
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to(tmp_path / "outside")
    with Writer.start(root, TEST) as writer, pytest.raises(GsmError, match="leads out of the folder"):
        adopt(writer, folder, manifest_of(FILES), Options(), FULL)


@pytest.mark.parametrize(
    ("kind", "repository", "place", "given"),
    [
        (HubKind.HUGGING_FACE, "org/tiny", "hub/models--org--tiny/snapshots/COMMIT", "."),
        (HubKind.HUGGING_FACE, "org/tiny", "hub/models--org--tiny/snapshots/COMMIT", "hub"),
        (HubKind.HUGGING_FACE, "org/tiny", "hub/models--org--tiny/snapshots/COMMIT", "hub/models--org--tiny"),
        (HubKind.HUGGING_FACE, "gpt2", "hub/models--gpt2/snapshots/COMMIT", "hub"),
        (HubKind.MODEL_SCOPE, "org/tiny", "models/org--tiny/snapshots/master", "."),
        (HubKind.MODEL_SCOPE, "org/tiny-1.5", "hub/models/org/tiny-1___5", "."),
        (HubKind.MODEL_SCOPE, "org/tiny", "org/tiny", "."),
        (HubKind.HUGGING_FACE, "org/tiny", "anywhere", "anywhere"),
    ],
)
def test_where_a_cache_keeps_it(tmp_path: Path, kind: HubKind, repository: str, place: str, given: str) -> None:
    commit = "1" * 40
    wanted = tmp_path / place.replace("COMMIT", commit)
    wanted.mkdir(parents=True)
    assert folder_for(tmp_path / given, HubRef(kind, repository, commit)).resolve() == wanted


def test_what_is_exported_is_what_was_published(root: Path, writer: Writer, tmp_path: Path) -> None:
    tree = writer.lookup(put(writer, FILES).digest)
    assert tree is not None
    export(writer, tree, tmp_path / "deep" / "out")
    assert contents(tmp_path / "deep" / "out") == FILES
    inodes = {os.stat(tree.path / path).st_ino for path in FILES}
    assert inodes.isdisjoint(os.stat(tmp_path / "deep/out" / path).st_ino for path in FILES)
    (tmp_path / "deep/out/config.json").write_bytes(b"mine to change")
    assert check_visible(root) == 1
    with pytest.raises(GsmError, match="not empty"):
        export(writer, tree, tmp_path / "deep" / "out")


def test_a_broken_file_is_not_exported(root: Path, writer: Writer, tmp_path: Path) -> None:
    tree = writer.lookup(put(writer, FILES).digest)
    assert tree is not None
    flip(tree.path / "model.safetensors", 5)
    with pytest.raises(GsmError) as refused:
        export(writer, tree, tmp_path / "out")
    assert refused.value.reason is Reason.INTEGRITY_MISMATCH
    assert sorted(os.listdir(tmp_path)) == ["store"]
