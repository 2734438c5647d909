"""Owns that hashing files on a real disk is right, bounded, cancelable, and kind when it cannot be.

Refuses timings; those are in the benchmarks.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
from pathlib import Path

import pytest

from gpustack_models.core.manifest import Algorithm
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.hashing import BOTH, CHUNK, SMALL, HashJob, hash_files

SIZES = (0, 1, SMALL - 1, SMALL, SMALL + 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 17)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    random.seed(7)
    for size in SIZES:
        (tmp_path / f"{size}").write_bytes(random.randbytes(size))
    return tmp_path


def tool_says(command: list[str], folder: Path, names: list[str]) -> list[str]:
    output = subprocess.run([*command, *names], cwd=folder, check=True, capture_output=True, text=True).stdout
    return [line.split()[0] for line in output.splitlines()]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_size_has_the_digests_that_sha256sum_and_git_say(tree: Path, threads: int) -> None:
    names = [str(size) for size in SIZES]
    seen: list[int] = []
    results = hash_files([HashJob(name, BOTH) for name in names], tree, threads=threads, progress=seen.append)
    assert [result.size for result in results] == list(SIZES)
    assert [result.digests[0].hex for result in results] == tool_says(["sha256sum"], tree, names)
    assert [result.digests[1].hex for result in results] == tool_says(
        ["git", "hash-object", "--no-filters"], tree, names
    )
    assert sum(seen) == sum(SIZES)


def test_a_directory_handle_and_absolute_paths_serve_as_well(tree: Path) -> None:
    handle = os.open(tree, os.O_RDONLY)
    try:
        relative = hash_files([HashJob("1")], handle)
        absolute = hash_files([HashJob(str(tree / "1"))], handle)
    finally:
        os.close(handle)
    assert relative[0].digests == absolute[0].digests == hash_files([HashJob("1")], tree)[0].digests


def test_a_file_of_another_size_than_expected_is_told_without_being_read(tree: Path) -> None:
    seen: list[int] = []
    (result,) = hash_files([HashJob(str(CHUNK), size=CHUNK - 1)], tree, progress=seen.append)
    assert (result.size, result.digests, result.error, seen) == (CHUNK, (), None, [])


def planted(tree: Path, kind: str) -> None:
    path = tree / "planted"
    match kind:
        case "link":
            path.symlink_to(tree / "1")
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()


BAD = {
    "missing": (Reason.NOT_FOUND, "does not exist"),
    "link": (Reason.INVALID_INPUT, "symbolic link"),
    "fifo": (Reason.INVALID_INPUT, "not a regular file"),
    "folder": (Reason.INVALID_INPUT, "not a regular file"),
}


@pytest.mark.parametrize(("kind", "reason", "words"), [(kind, *row) for kind, row in BAD.items()], ids=BAD)
def test_what_cannot_be_hashed_is_named(tree: Path, kind: str, reason: Reason, words: str) -> None:
    planted(tree, kind)
    jobs = [HashJob("1"), HashJob("planted"), HashJob(str(CHUNK))]
    with pytest.raises(GsmError, match=words) as caught:
        hash_files(jobs, tree)
    assert caught.value.reason is reason
    assert str(tree / "planted") in caught.value.message
    first, second, third = hash_files(jobs, tree, keep_going=True)
    assert second.error is not None
    assert second.error.reason is reason
    assert first.error is third.error is None
    assert len(first.digests) == len(third.digests) == 1


def test_a_missing_root_is_named(tmp_path: Path) -> None:
    with pytest.raises(GsmError, match="nowhere does not exist"):
        hash_files([HashJob("1")], tmp_path / "nowhere")


def test_links_are_followed_when_asked(tree: Path) -> None:
    planted(tree, "link")
    linked, direct = hash_files([HashJob("planted"), HashJob("1")], tree, follow_links=True)
    assert linked.digests == direct.digests


GROWTH = {"grown": 3 * CHUNK, "shrunk": CHUNK}


@pytest.mark.parametrize("size", GROWTH.values(), ids=GROWTH)
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "moving"
    path.write_bytes(bytes(2 * CHUNK))

    def change(_: int) -> None:
        os.truncate(path, size)

    with pytest.raises(GsmError, match="moving changed while it was read") as caught:
        hash_files([HashJob("moving")], tmp_path, progress=change)
    assert caught.value.reason is Reason.STORAGE_FAILED


def test_a_rewrite_of_the_same_size_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "moving"
    path.write_bytes(bytes(2 * CHUNK))
    os.utime(path, ns=(0, 0))

    def change(_: int) -> None:
        with path.open("r+b") as file:
            file.write(b"x")

    with pytest.raises(GsmError, match="changed while it was read"):
        hash_files([HashJob("moving")], tmp_path, progress=change)


def test_stop_ends_at_once_as_canceled(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(8 * CHUNK))
    stop = threading.Event()
    seen: list[int] = []

    def halt(count: int) -> None:
        seen.append(count)
        stop.set()

    with pytest.raises(GsmError) as caught:
        hash_files([HashJob("big", (Algorithm.SHA256,))], tmp_path, progress=halt, stop=stop)
    assert caught.value.reason is Reason.CANCELED
    assert sum(seen) == CHUNK
