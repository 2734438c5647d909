"""Owns what the data plane leaves on the disk: resumes that trust nothing, planted names, full and read-only disks.

Refuses a fake disk: what fails here is a mount.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.handles import Dir
from gpustack_models.store.sources import Fetched, Origin, Want
from gpustack_models.store.transfer.partial import kept_bytes, name_of
from tests.integration.store.faultserver import FaultServer, at_rate, end_at, ignore_range, stall_at, status
from tests.integration.store.transferring import MIB, From, Got, fetch, make_transfer, noise, want, wants_of

SIZES = (0, 1, 4095, MIB - 1, MIB, MIB + 1, 8 * MIB - 1, 8 * MIB, 16 * MIB + 1, 40 * MIB + 7)
#: Beyond one interval of checkpoints.
HUGE = noise(80 * MIB)
WANT = want("huge", HUGE)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    server = FaultServer({"huge": HUGE})
    yield server
    server.close()


def interrupted(server: FaultServer, folder: Path, at: int) -> int:
    """A fetch that ends after so many bytes; returns how many it kept."""
    server.then("huge", end_at(at))
    server.always["huge"] = status("403 Forbidden")
    with pytest.raises(GsmError, match="answered 403"):
        fetch([WANT], folder, [From(server.url)], transfer=make_transfer(concurrency=1))
    del server.always["huge"]
    server.requests.clear()
    with Dir.at(str(folder)) as handle:
        return kept_bytes(handle, WANT)


def test_every_size_arrives_whole(tmp_path: Path) -> None:
    files = {f"{size}": noise(size, size) for size in SIZES}
    server = FaultServer(files)
    got = fetch(wants_of(files), tmp_path, [From(server.url)])
    server.close()
    assert {path: got.content(path) for path in files} == files
    assert {path for path, fetched in got.files.items() if fetched.synced} == {
        f"{size}" for size in SIZES if size >= 8 * MIB
    }
    for path, content in files.items():
        fetched = got.files[path]
        assert fetched.want.digest in fetched.digests
        assert len(fetched.digests) == (2 if len(content) <= 16 * MIB else 1)
    assert server.asked("0") == [], "an empty file needs no request"
    assert got.report is not None
    assert (dict(got.report.received), got.report.kept) == ({Origin.HUB: sum(SIZES)}, 0)
    for path, told in got.progress.items():
        assert told == sorted(told)
        assert told[-1] == len(files[path])
    assert sorted(os.listdir(tmp_path)) == sorted({fetched.path.name for fetched in got.files.values()})


def test_two_files_of_one_content_are_fetched_once(tmp_path: Path) -> None:
    server = FaultServer({"a": b"same", "b": b"same"})
    got = fetch(wants_of(server.files), tmp_path, [From(server.url)])
    server.close()
    assert len(server.requests) == len(got.files) == 1


def test_an_interrupted_file_goes_on_where_it_was(server: FaultServer, tmp_path: Path) -> None:
    kept = interrupted(server, tmp_path, 72 * MIB)
    assert kept == 72 * MIB
    got = fetch([WANT], tmp_path, [From(server.url)])
    assert got.content("huge") == HUGE
    assert got.report is not None
    assert (got.report.kept, got.report.received) == (kept, {Origin.HUB: len(HUGE) - kept})
    assert min((one.range or (0, 0))[0] for one in server.requests) == kept
    assert os.listdir(tmp_path) == [name_of(WANT.digest)], "the checkpoints go with the last byte"


def test_a_resume_from_a_server_that_ignores_ranges(server: FaultServer, tmp_path: Path) -> None:
    interrupted(server, tmp_path, 72 * MIB)
    server.always["huge"] = ignore_range
    got = fetch([WANT], tmp_path, [From(server.url)])
    assert got.content("huge") == HUGE
    assert got.progress["huge"] == sorted(got.progress["huge"])


def flip_byte(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))


# What happened to the file or its checkpoints in between, and how much may still be trusted.
def _flipped_late(folder: Path) -> None:
    flip_byte(folder / name_of(WANT.digest), 68 * MIB)


def _flipped_early(folder: Path) -> None:
    flip_byte(folder / name_of(WANT.digest), 5)


def _shorter(folder: Path) -> None:
    os.truncate(folder / name_of(WANT.digest), 66 * MIB)


def _torn(folder: Path) -> None:
    log = folder / f"{name_of(WANT.digest)}.checkpoints"
    log.write_bytes(log.read_bytes()[:-20])


def _no_log(folder: Path) -> None:
    (folder / f"{name_of(WANT.digest)}.checkpoints").unlink()


def _other_format(folder: Path) -> None:
    log = folder / f"{name_of(WANT.digest)}.checkpoints"
    log.write_bytes(log.read_bytes().replace(b"gpustack-partial 1", b"gpustack-partial 9"))


def _no_file(folder: Path) -> None:
    (folder / name_of(WANT.digest)).unlink()


CHANGES: dict[str, tuple[Callable[[Path], None], int]] = {
    "nothing": (lambda _: None, 72 * MIB),
    "a byte after the first checkpoint": (_flipped_late, 64 * MIB),
    "a byte before the first checkpoint": (_flipped_early, 0),
    "the file is shorter": (_shorter, 64 * MIB),
    "the last line is torn": (_torn, 64 * MIB),
    "no checkpoints": (_no_log, 0),
    "another format": (_other_format, 0),
    "no file": (_no_file, 0),
}


@pytest.mark.parametrize(("change", "trusted"), CHANGES.values(), ids=CHANGES)
def test_only_what_the_disk_confirms_is_kept(
    server: FaultServer, tmp_path: Path, change: Callable[[Path], None], trusted: int
) -> None:
    interrupted(server, tmp_path, 72 * MIB)
    change(tmp_path)
    got = fetch([WANT], tmp_path, [From(server.url)])
    assert got.report is not None
    # The first checkpoint lies at the end of the run that passed 64 MiB.
    assert trusted <= got.report.kept < trusted + MIB
    assert got.content("huge") == HUGE


def test_a_prefix_whose_checkpoints_lie_costs_one_whole_read(server: FaultServer, tmp_path: Path) -> None:
    wrong = bytearray(HUGE[: 20 * MIB])
    wrong[1000] ^= 1
    (tmp_path / name_of(WANT.digest)).write_bytes(wrong)
    line = f"{len(wrong)} {hashlib.sha256(wrong).hexdigest()}\n"
    log = tmp_path / f"{name_of(WANT.digest)}.checkpoints"
    log.write_text(f"gpustack-partial 1 {WANT.digest} {WANT.size}\n{line}")
    got = fetch([WANT], tmp_path, [From(server.url)])
    assert got.content("huge") == HUGE
    assert got.report is not None
    assert got.report.received == {Origin.HUB: 2 * len(HUGE) - len(wrong)}
    assert got.progress["huge"] == sorted(set(got.progress["huge"]))


def test_a_whole_file_that_was_not_handed_over_needs_no_request(server: FaultServer, tmp_path: Path) -> None:
    def lost(fetched: Fetched) -> None:
        raise RuntimeError(f"{fetched.want.path}: the power is gone")

    with pytest.raises(RuntimeError, match="power"):
        make_transfer().fetch([WANT], tmp_path, [From(server.url)], on_file=lost)
    server.requests.clear()
    got = fetch([WANT], tmp_path, [From(server.url)])
    assert got.content("huge") == HUGE
    assert server.requests == []


def test_stopping_keeps_what_is_verified(server: FaultServer, tmp_path: Path) -> None:
    server.always["huge"] = at_rate(40 * MIB)
    stop = threading.Event()
    timer = threading.Timer(0.7, stop.set)
    timer.start()
    with pytest.raises(GsmError) as caught:
        fetch([WANT], tmp_path, [From(server.url)], stop=stop)
    assert caught.value.reason is Reason.CANCELED
    server.always.clear()
    got = fetch([WANT], tmp_path, [From(server.url)])
    assert got.report is not None
    assert 2 * MIB < got.report.kept < len(HUGE)
    assert got.content("huge") == HUGE


def test_stopping_does_not_wait_for_a_silent_server(server: FaultServer, tmp_path: Path) -> None:
    server.always["huge"] = stall_at(-1)
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    ended = threading.Event()

    def pull() -> None:
        with pytest.raises(GsmError, match="stopped"):
            fetch([WANT], tmp_path, [From(server.url)], stop=stop, transfer=make_transfer(stall=60))
        ended.set()

    threading.Thread(target=pull, daemon=True).start()
    assert ended.wait(10), "it waited for the stall's end"


# What lies under the file's name, or its checkpoints', before the fetch.
def _link(folder: Path, name: str) -> None:
    (folder.parent / "victim").write_bytes(b"precious")
    (folder / name).symlink_to(folder.parent / "victim")


def _hard_link(folder: Path, name: str) -> None:
    (folder.parent / "victim").write_bytes(b"precious")
    os.link(folder.parent / "victim", folder / name)


def _fifo(folder: Path, name: str) -> None:
    (folder.parent / "victim").write_bytes(b"precious")
    os.mkfifo(folder / name)


PLANTED = {"a link": _link, "a hard link": _hard_link, "a fifo": _fifo}
NAMES = {
    "small": ("small", ""),
    "large": ("medium", ""),
    "checkpoints": ("large", ".checkpoints"),
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
@pytest.mark.parametrize(("path", "suffix"), NAMES.values(), ids=NAMES)
def test_nothing_is_written_through_what_was_planted(
    tmp_path: Path, plant: Callable[[Path, str], None], path: str, suffix: str
) -> None:
    folder = tmp_path / "partial"
    folder.mkdir()
    files = {"small": noise(1000), "medium": noise(9 * MIB), "large": noise(66 * MIB)}
    server = FaultServer(files)
    plant(folder, name_of(want(path, files[path]).digest) + suffix)
    got = fetch([want(path, files[path])], folder, [From(server.url)])
    server.close()
    assert got.content(path) == files[path]
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert not (folder / got.files[path].path.name).is_symlink()


def test_a_folder_under_the_name_is_refused_with_its_path(tmp_path: Path) -> None:
    server = FaultServer({"small": b"content"})
    (one,) = wants_of(server.files)
    (tmp_path / name_of(one.digest)).mkdir()
    with pytest.raises(GsmError, match=name_of(one.digest)) as caught:
        fetch([one], tmp_path, [From(server.url)])
    server.close()
    assert caught.value.reason is Reason.STORAGE_FAILED


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


FULL: dict[str, list[Want]] = {
    "one large file": [WANT],
    "many small files": [want(f"{number}", noise(900_000, number)) for number in range(40)],
}


@pytest.mark.parametrize("wants", FULL.values(), ids=FULL)
def test_a_full_disk_is_insufficient_capacity(small_disk: Path, wants: list[Want]) -> None:
    files = {one.path: HUGE if one is WANT else noise(one.size, int(one.path)) for one in wants}
    server = FaultServer({"first": noise(MIB + 1), **files})
    got = Got()
    with pytest.raises(GsmError, match="No space left") as caught:
        fetch([want("first", server.files["first"]), *wants], small_disk, [From(server.url)], got=got)
    server.close()
    assert caught.value.reason is Reason.INSUFFICIENT_CAPACITY
    assert any(one.path in caught.value.message for one in wants)
    for path in got.files:
        assert got.content(path) == server.files[path], "what was handed over before is not lost"


def test_a_disk_that_becomes_read_only_is_storage_failed(small_disk: Path) -> None:
    files = {f"{number}": noise(200_000, number) for number in range(30)}
    server = FaultServer(files)
    server.always.update(dict.fromkeys(files, at_rate(2 * MIB)))

    def remount(_: Fetched) -> None:
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=False)

    with pytest.raises(GsmError, match="Read-only file system") as caught:
        make_transfer(concurrency=1).fetch(wants_of(files), small_disk, [From(server.url)], on_file=remount)
    server.close()
    assert caught.value.reason is Reason.STORAGE_FAILED
    assert "remount" in caught.value.hint


def test_many_tiny_files(tmp_path: Path) -> None:
    files = {f"{number % 100}/{number}": noise(1024, number) for number in range(1000)}
    server = FaultServer(files)
    got = fetch(wants_of(files), tmp_path, [From(server.url)])
    server.close()
    assert len(got.files) == len(files)
    assert all(got.content(path) == files[path] for path in list(files)[::97])
