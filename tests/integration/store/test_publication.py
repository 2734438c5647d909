"""Owns that a tree is visible whole or not at all, shares its files with others, and never leaves its root."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from gpustack_models.core.manifest import Entry, Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.layout import Root
from gpustack_models.store.store import Store
from gpustack_models.store.trees import check_paths
from gpustack_models.store.writer import Writer
from tests.integration.store.disk import (
    GITSHA1,
    SHA256,
    TEST,
    adopt,
    check_visible,
    contents,
    manifest_of,
    name_of,
    put,
    small_disk,
    visible,
)

NAME = "ä" * 127 + "x"  # 255 bytes
SHAPES: dict[str, dict[str, bytes]] = {
    "one file": {"config.json": b"{}"},
    "an empty file": {"empty": b"", "other/empty": b""},
    "two files of one content": {"a": b"same", "b/c": b"same", "b/d/e": b"same"},
    "names of 255 bytes": {f"{NAME}/{NAME}": b"1", NAME.replace("ä", "ö"): b"2"},
    "a path of 3839 bytes": {"/".join(["d" * 255] * 14) + "/" + "e" * 255: b"deep"},
    "folders that sort between files": {"a-b": b"1", "a/b": b"2", "a/b-c/d": b"3", "a/b.c": b"4", "a0": b"5"},
    "names that look like ours": {"manifest": b"1", "files/manifest": b"2", ".tmp-1": b"3", ".staging-x": b"4"},
    "spaces and quotes": {" a b ": b"1", "'\"$(x)": b"2", "-rf": b"3", "~": b"4"},
    "many folders": {f"{number}/file": b"%d" % number for number in range(50)},
}


@pytest.mark.parametrize("files", SHAPES.values(), ids=SHAPES.keys())
def test_what_is_published_is_what_was_put_in(root: Path, writer: Writer, files: dict[str, bytes]) -> None:
    for algorithm in (SHA256, GITSHA1):
        manifest = put(writer, files, algorithm)
        tree = writer.lookup(manifest.digest)
        assert tree is not None
        assert tree.path == root / "trees" / manifest.digest[7:] / "files"
        assert contents(tree.path) == files
        assert tree.manifest == manifest
    assert check_visible(root) == 2
    assert os.listdir(root / "partial") == os.listdir(root / "trash") == []


def test_the_layout_is_the_specifications(root: Path, writer: Writer) -> None:
    manifest = put(writer, {"config.json": b"{}"})
    blob = name_of(b"{}")
    assert sorted(os.listdir(root)) == ["blobs", "format", "ledger", "lock", "partial", "trash", "trees"]
    assert (root / "blobs" / "sha256" / blob.hex[:2] / blob.hex).read_bytes() == b"{}"
    assert sorted(os.listdir(root / "trees" / manifest.digest[7:])) == ["files", "manifest"]
    assert (root / "trees" / manifest.digest[7:] / "manifest").read_bytes() == manifest.data


def test_equal_files_are_stored_once(root: Path, writer: Writer) -> None:
    put(writer, {"a": b"x" * 5000, "b": b"x" * 5000})
    put(writer, {"other": b"x" * 5000, "more": b"y"})
    inodes = {path.stat().st_ino for path in root.rglob("*") if path.is_file() and path.read_bytes() == b"x" * 5000}
    assert len(inodes) == 1


def test_a_file_known_by_both_digests_is_found_by_both(root: Path, writer: Writer) -> None:
    adopt(writer, b"content", digests=(GITSHA1, SHA256))
    first, second = writer.blobs.find(name_of(b"content", GITSHA1)), writer.blobs.find(name_of(b"content", SHA256))
    assert first is not None
    assert second is not None
    assert first.inode == second.inode
    # A second name that becomes known later joins the inode that is there.
    adopt(writer, b"later", digests=(SHA256,))
    adopt(writer, b"later", digests=(SHA256, GITSHA1))
    assert len({blob.inode for blob in writer.blobs.all() if blob.size == 5}) == 1


def test_a_blob_that_was_cut_is_replaced(root: Path, writer: Writer) -> None:
    adopt(writer, b"whole content")
    blob = name_of(b"whole content")
    path = root / "blobs" / "sha256" / blob.hex[:2] / blob.hex
    path.chmod(0o644)
    path.write_bytes(b"whole")
    adopt(writer, b"whole content")
    assert path.read_bytes() == b"whole content"


def test_a_blob_that_vanished_publishes_nothing(root: Path, writer: Writer) -> None:
    manifest = manifest_of({"a": b"1", "b": b"2"})
    adopt(writer, b"1")
    with pytest.raises(GsmError) as failed:
        writer.publish(manifest)
    assert failed.value.reason is Reason.STORAGE_FAILED
    assert visible(root) == []


def test_more_names_than_an_inode_takes(root: Path, writer: Writer) -> None:
    # ext4 takes 65,000 names for an inode; a repository may hold more empty files than that.
    adopt(writer, b"")
    blob = name_of(b"")
    path = root / "blobs" / "sha256" / blob.hex[:2] / blob.hex
    others = root.parent / "others"
    others.mkdir()
    folder = os.open(others, os.O_RDONLY)
    limit = os.pathconf(path, "PC_LINK_MAX")
    for number in range(min(limit, 70_000) - 1):
        os.link(path, str(number), dst_dir_fd=folder)
    os.close(folder)
    full = os.stat(path)
    put(writer, {str(number): b"" for number in range(20)})
    assert check_visible(root) == 1
    assert (os.stat(path).st_ino == full.st_ino) is (full.st_nlink < limit)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        pytest.param("a" * 256, "256 bytes", id="a name too long"),
        pytest.param("ä" * 128, "256 bytes", id="a name too long in bytes"),
        pytest.param("/".join(["d"] * 129), "129 folders deep", id="too deep"),
        pytest.param("/".join(["d" * 200] * 20), "4019 bytes", id="a path too long"),
    ],
)
def test_paths_that_no_disk_holds_are_refused_first(path: str, problem: str) -> None:
    with pytest.raises(GsmError, match=problem) as refused:
        check_paths(Manifest.of([Entry(path, 1, name_of(b"x"))]))
    assert refused.value.reason is Reason.INVALID_MANIFEST


def plant(root: Path, place: str, outside: Path) -> None:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(outside)


def start_and_put(root: Path) -> None:
    with Writer.start(root, TEST) as writer:
        put(writer, {"a": b"content"})


BLOB = name_of(b"content")


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(f"blobs/sha256/{BLOB.hex[:2]}", id="a bucket"),
        pytest.param(f"blobs/sha256/{BLOB.hex[:2]}/{BLOB.hex}", id="a blob"),
        pytest.param(f"trees/{manifest_of({'a': b'content'}).digest[7:]}", id="a tree"),
        pytest.param("blobs/sha256", id="an algorithm's folder"),
        pytest.param("partial", id="partial"),
        pytest.param("trees", id="trees"),
        pytest.param("trash", id="trash"),
        pytest.param("ledger/uses", id="a ledger folder"),
        pytest.param("ledger", id="ledger"),
        pytest.param("lock", id="lock"),
        pytest.param("format", id="format"),
    ],
)
def test_a_planted_link_is_refused_and_what_it_points_at_untouched(root: Path, tmp_path: Path, place: str) -> None:
    Writer.start(root, TEST).close()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    file = place in ("lock", "format") or place.endswith(BLOB.hex)
    whole = root / place
    if whole.is_dir():
        shutil.rmtree(whole)
    elif whole.exists():
        whole.unlink()
    plant(root, place, outside / "precious" if file else outside)
    with pytest.raises(GsmError) as refused:
        start_and_put(root)
    assert refused.value.reason in (Reason.STORAGE_FAILED, Reason.UNKNOWN_FORMAT)
    assert place.split("/")[-1] in refused.value.message
    assert contents(outside) == {"precious": b"precious"}


def test_a_folder_that_is_no_tree_makes_room_for_one(root: Path, writer: Writer) -> None:
    manifest = manifest_of({"a": b"1"})
    fake = root / "trees" / manifest.digest[7:]
    (fake / "files").mkdir(parents=True)
    (fake / "manifest").write_bytes(b"gpustack-manifest v1\nanything\n")
    assert writer.lookup(manifest.digest) is None
    put(writer, {"a": b"1"})
    assert check_visible(root) == 1


@pytest.mark.parametrize("content", [b"gpustack-node-store 2\n", b"", b"\xff\xfe", b"gpustack-node-store 1 or so"])
def test_an_unknown_layout_is_refused(root: Path, content: bytes) -> None:
    Writer.start(root, TEST).close()
    (root / "format").write_bytes(content)
    with pytest.raises(GsmError) as refused:
        Writer.start(root, TEST)
    assert refused.value.reason is Reason.UNKNOWN_FORMAT
    with pytest.raises(GsmError) as refused:
        Store.open(root)
    assert refused.value.reason is Reason.UNKNOWN_FORMAT


def test_a_folder_of_other_things_is_never_made_a_store(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(GsmError) as refused:
        Writer.start(tmp_path, TEST)
    assert refused.value.reason is Reason.UNKNOWN_FORMAT
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_folders_on_several_filesystems_are_refused(root: Path) -> None:
    Writer.start(root, TEST).close()
    with small_disk(root / "trees", "size=1m"), pytest.raises(GsmError, match="several filesystems"):
        Root.open(root)


def test_reading_needs_a_store(tmp_path: Path) -> None:
    with pytest.raises(GsmError) as refused:
        Store.open(tmp_path / "nowhere")
    assert refused.value.reason is Reason.NOT_FOUND
    assert not (tmp_path / "nowhere").exists()


def test_permissions(root: Path, writer: Writer) -> None:
    manifest = put(writer, {"a/b": b"1"})
    tree = root / "trees" / manifest.digest[7:]
    modes = {
        path: stat.S_IMODE(os.stat(tree / path).st_mode) for path in ("", "manifest", "files", "files/a", "files/a/b")
    }
    assert modes == {"": 0o555, "manifest": 0o444, "files": 0o555, "files/a": 0o555, "files/a/b": 0o444}
