"""Owns that whatever breaks on the disk is found, leaves sight at once, and is mended under what is mounted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack_models.errors import GsmError
from gpustack_models.store import plan as planning
from gpustack_models.store.collect import collect
from gpustack_models.store.mending import heal, sharing, withdraw
from gpustack_models.store.records import Reference
from gpustack_models.store.scrub import scrub
from gpustack_models.store.writer import Writer
from tests.integration.store.disk import DAY, GITSHA1, MovedClock, adopt, check_visible, contents, name_of, put, visible

BIG = b"0123456789abcdef" * 20_000
FILES = {"config.json": b"{}", "model.safetensors": BIG, "deep/er/tokenizer.json": b"tokens", "empty": b""}


def tree_of(root: Path, digest: str) -> Path:
    return root / "trees" / digest[7:]


def overwrite(path: Path, at: int, data: bytes) -> None:
    """What a bad disk does: other bytes, the same name, size and inode."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def test_a_sound_store_passes_and_each_inode_is_read_once(root: Path, writer: Writer) -> None:
    put(writer, FILES)
    put(writer, {"copy": BIG, "other": b"x"})
    hashed: list[int] = []

    def begin(total: int) -> Callable[[int], None]:
        hashed.append(-total)
        return hashed.append

    found = scrub(writer, progress=begin)
    assert found.passed
    assert (found.trees, found.files, found.bytes) == (2, 5, len(BIG) + 2 + 6 + 0 + 1)
    assert sum(hashed) == 0


def replace(tree: Path, path: str, act: Callable[[Path], object]) -> None:
    """What somebody who may write to the tree does to one name in it."""
    folder = (tree / path).parent
    folder.chmod(0o755)
    (tree / path).unlink(missing_ok=True)
    act(tree / path)
    folder.chmod(0o555)


MODEL, CONFIG = "files/model.safetensors", "files/config.json"
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "first byte": (lambda tree: overwrite(tree / MODEL, 0, b"X"), "its bytes are not"),
    "a byte in the middle": (lambda tree: overwrite(tree / MODEL, len(BIG) // 2, b"X"), "its bytes are not"),
    "the last byte": (lambda tree: overwrite(tree / MODEL, len(BIG) - 1, b"X"), "its bytes are not"),
    "a byte too few": (lambda tree: os.truncate(tree / CONFIG, 1), "'config.json' is no file of 2 bytes"),
    "a byte too many": (lambda tree: overwrite(tree / "files/empty", 0, b"X"), "'empty' is no file of 0 bytes"),
    "a missing file": (lambda tree: replace(tree, CONFIG, lambda path: path), "'config.json' is missing"),
    "a file too many": (
        lambda tree: replace(tree, "files/deep/extra", Path.touch),
        "'deep/extra' is there and not in its manifest",
    ),
    "a link in place of a file": (
        lambda tree: replace(tree, CONFIG, lambda path: path.symlink_to("empty")),
        "'config.json' is no file of 2 bytes",
    ),
    "another inode with other bytes": (
        lambda tree: replace(tree, CONFIG, lambda path: path.write_text("[]")),
        "its bytes are not",
    ),
    "a manifest with another line": (
        lambda tree: overwrite(tree / "manifest", 30, b"0000"),
        "its manifest does not hash to its name",
    ),
}


@pytest.mark.parametrize(("damage", "why"), DAMAGE.values(), ids=DAMAGE.keys())
@pytest.mark.parametrize("scope", ["everything", "by digest"])
def test_damage_is_found_and_leaves_sight(
    root: Path, writer: Writer, damage: Callable[[Path], object], why: str, scope: str
) -> None:
    sound = put(writer, {"a": b"sound"}).digest
    digest = put(writer, FILES).digest
    damage(tree_of(root, digest))
    found = scrub(writer, () if scope == "everything" else (digest,))
    assert [broken.digest for broken in found.broken_trees] == [digest]
    assert why in found.broken_trees[0].why
    withdraw(writer, found)
    assert visible(root) == [sound]
    assert check_visible(root) == 1
    assert scrub(writer).passed
    # What was good of it is still here, and what was bad is not, so that a pull fetches the bad files only.
    bad = {name for broken in found.broken_blobs for name in broken.names}
    for data in FILES.values():
        assert (writer.blobs.find(name_of(data)) is None) is (name_of(data) in bad)
    assert os.listdir(root / "trash") == []


def test_a_broken_blob_takes_every_tree_that_shows_it(root: Path, writer: Writer) -> None:
    first, second = put(writer, {"a": BIG, "b": b"1"}).digest, put(writer, {"c": BIG}).digest
    sound = put(writer, {"d": b"1"}).digest
    overwrite(tree_of(root, first) / "files/a", 5, b"X")
    found = scrub(writer, (first,))
    assert sharing(writer.snapshot(), (name for blob in found.broken_blobs for name in blob.names), (first,)) == [
        second
    ]
    assert {broken.digest for broken in scrub(writer).broken_trees} == {first, second}
    withdraw(writer, scrub(writer))
    assert visible(root) == [sound]


def test_every_name_of_a_broken_blob_goes(root: Path, writer: Writer) -> None:
    adopt(writer, b"content", digests=(GITSHA1, name_of(b"").algorithm))
    blob = name_of(b"content")
    overwrite(root / "blobs/sha256" / blob.hex[:2] / blob.hex, 0, b"X")
    withdraw(writer, scrub(writer))
    assert list(writer.blobs.all()) == []


def test_what_is_mounted_keeps_its_files_and_is_mended_under_its_names(
    root: Path, writer: Writer, clock: MovedClock
) -> None:
    manifest = put(writer, FILES)
    writer.reference(Reference("csi-1", "/pods/1", manifest.digest, clock.now()))
    tree = tree_of(root, manifest.digest)
    mounted = os.open(tree / "files", os.O_RDONLY)  # as a bind mount does, it follows the directory wherever it goes
    reading = os.open("model.safetensors", os.O_RDONLY, dir_fd=mounted)
    try:
        overwrite(tree / "files/model.safetensors", 7, b"X")
        withdraw(writer, scrub(writer))
        assert visible(root) == []
        assert writer.lookup(manifest.digest) is None
        assert sorted(os.listdir(mounted)) == ["config.json", "deep", "empty", "model.safetensors"]
        # A collection while it is mounted removes nothing of it, and a restart neither.
        clock.pass_(9 * DAY)
        collect(writer, lambda snapshot: planning.plan(snapshot, snapshot.usage.used))
        assert sorted(os.listdir(mounted)) == ["config.json", "deep", "empty", "model.safetensors"]
        put(writer, FILES)
        assert heal(writer, manifest) >= 1
        there = os.readlink(f"/proc/self/fd/{mounted}")
        assert "/trash/" in there
        assert contents(Path(there)) == FILES
        # Who has the broken file open goes on reading the old inode; nobody else finds it.
        assert os.pread(reading, 8, 0) == b"0123456X"
        assert heal(writer, manifest) == 0
        assert check_visible(root) == 1
        writer.release("/pods/1")
        collect(writer, lambda snapshot: planning.plan(snapshot, 0))
        assert os.listdir(root / "trash") == []
        assert check_visible(root) == 1
    finally:
        os.close(reading)
        os.close(mounted)


def test_a_planted_link_among_the_blobs_is_said(root: Path, writer: Writer) -> None:
    blob = name_of(b"anything")
    (root / "blobs/sha256" / blob.hex[:2]).mkdir()
    (root / "blobs/sha256" / blob.hex[:2] / blob.hex).symlink_to("/etc/passwd")
    with pytest.raises(GsmError, match=blob.hex):
        scrub(writer)
