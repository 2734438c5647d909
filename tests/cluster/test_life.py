"""A bed's life as its users see it: up, up again, killed at any moment, down without a trace."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bed import Bed, Options, launch, processes
from tests.bed.layout import home
from tests.bed.ports import Block
from tests.bed.processes import table

ROOT = Path(__file__).resolve().parents[2]

# A session that owns a bed, as pytest's does, and waits.
OWNER = """
import os, sys
from tests.bed import Bed, Options, launch, processes
from tests.bed.layout import home
Bed(home(os.environ) / sys.argv[1], Options(owner=processes.current())).up()
print("up", flush=True)
sys.stdin.read()
"""


class Shell:
    """The bed's command line for one bed, by name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = home(os.environ) / name

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "tests.bed", *arguments, "--name", self.name]
        return subprocess.Popen(argv, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def bed(self) -> Bed:
        return Bed(self.folder)


@pytest.fixture
def shell() -> Iterator[Shell]:
    made = Shell(f"life{os.getpid()}")
    yield made
    code, _, err = made.run("down")
    assert (code, err) == (0, "")


def exported(out: str) -> Path:
    found = re.match(r"export KUBECONFIG=(\S+)\n", out)
    assert found, out
    return Path(found[1])


def pods_answer(kubeconfig: Path) -> bool:
    run = subprocess.run(["kubectl", f"--kubeconfig={kubeconfig}", "get", "pods", "-A"], capture_output=True)
    return run.returncode == 0


def left_of(mark: str, block: Block) -> list[str]:
    """Processes with the bed's mark, and listeners on its ports."""
    marked = [f"process {row.identity.pid}" for row in table() if row.mark == mark and not row.dead]
    listening = Path("/proc/net/tcp").read_text().splitlines()[1:]
    ports = {int(row.split()[1].rsplit(":", 1)[1], 16) for row in listening if row.split()[3] == "0A"}
    return marked + [f"port {port}" for port in ports & set(block.ports)]


def kill_everything(bed: Bed) -> None:
    for name in bed.supervisor.names():
        identity = bed.supervisor.identity(name)
        assert identity is not None
        if processes.alive(identity):
            os.kill(identity.pid, signal.SIGKILL)
    # A killed process is gone a moment later, and a busy machine makes that moment long.
    until = time.monotonic() + 60
    while any(bed.supervisor.running(name) for name in bed.supervisor.names()):
        assert time.monotonic() < until, "a killed process is still there"
        time.sleep(0.05)


def test_up_prints_one_line_for_the_shell_and_down_leaves_nothing(shell: Shell) -> None:
    code, out, err = shell.run("up", "--nodes", "0")
    assert code == 0, err
    assert pods_answer(exported(out))
    hub = re.search(r"^export HF_ENDPOINT=(\S+)$", out, re.MULTILINE)
    assert hub
    with urllib.request.urlopen(f"{hub[1]}/demo/tiny/resolve/main/config.json") as answer:
        assert b"hidden_size" in answer.read()
    bed = shell.bed()
    mark, block = bed.card.mark, bed.block
    seen = left_of(mark, block)
    assert len([one for one in seen if one.startswith("process")]) == 5, "the search finds what is there"
    assert f"port {block.control('kube-apiserver')}" in seen
    assert shell.run("down") == (0, "", "")
    assert left_of(mark, block) == []
    assert not shell.folder.exists()


def test_up_again_is_the_same_bed_and_another_size_is_refused(shell: Shell) -> None:
    first = shell.run("up", "--nodes", "0")
    mark = shell.bed().card.mark
    again = shell.run("up", "--nodes", "0")
    assert again[:2] == first[:2]
    assert shell.bed().card.mark == mark
    code, out, err = shell.run("up", "--nodes", "1")
    assert (code, out) == (1, "")
    assert err.strip().splitlines()[-1].startswith(("a bed with 0 nodes is up", "the node tier cannot run here"))


def test_up_after_kill_9_of_everything(shell: Shell) -> None:
    assert shell.run("up", "--nodes", "0")[0] == 0
    crashed = shell.bed()
    kill_everything(crashed)
    assert not crashed.running()
    code, out, err = shell.run("up", "--nodes", "0")
    assert code == 0, err
    assert pods_answer(exported(out))
    assert left_of(crashed.card.mark, Block(239)) == []


def test_up_after_one_program_died_starts_afresh(shell: Shell) -> None:
    assert shell.run("up", "--nodes", "0")[0] == 0
    crashed = shell.bed()
    crashed.faults.kill("kube-scheduler")
    code, out, err = shell.run("up", "--nodes", "0")
    assert code == 0, err
    assert shell.bed().card.mark != crashed.card.mark
    assert left_of(crashed.card.mark, Block(239)) == []
    assert pods_answer(exported(out))


def test_up_killed_at_any_moment_then_up(shell: Shell) -> None:
    moments = random.Random(5)
    for _ in range(4):
        process = shell.start("up", "--nodes", "0")
        time.sleep(moments.uniform(0.05, 3))
        process.kill()
        process.communicate()
    code, out, err = shell.run("up", "--nodes", "0")
    assert code == 0, err
    assert pods_answer(exported(out))


@pytest.mark.parametrize("command", ["up", "down"])
def test_a_folder_that_is_no_bed_is_never_removed(command: str) -> None:
    name = f"mine{os.getpid()}"
    folder = home(os.environ) / name
    folder.mkdir()
    (folder / "thesis").write_text("years of work")
    try:
        code, out, err = Shell(name).run(command)
        assert (code, out) == (1, "")
        assert "no bed" in err
        assert (folder / "thesis").read_text() == "years of work"
    finally:
        (folder / "thesis").unlink()
        folder.rmdir()


def test_two_beds_at_once_share_nothing(bed: Bed, tmp_path: Path) -> None:
    other = Bed(home(os.environ) / f"other{os.getpid()}", Options(owner=processes.current()))
    other.up()
    try:
        bed.kubectl("create", "namespace", "only-here")
        assert not other.kubectl.exists("namespace", "only-here")
        assert not set(bed.block.ports) & set(other.block.ports)
    finally:
        other.down()
        bed.kubectl("delete", "namespace", "only-here")
    assert bed.running(), "a bed that goes takes nothing of another one"


def test_a_signal_meant_for_an_ended_process_hits_no_other_with_its_number() -> None:
    with subprocess.Popen(["sleep", "600"]) as other:
        try:
            row = processes.observe(other.pid, processes.boot_id())
            assert row is not None
            for stale in (replace(row.identity, start=row.identity.start - 1), replace(row.identity, boot="before")):
                launch.signal_identity(stale, signal.SIGKILL)
                assert not processes.alive(stale)
            assert other.poll() is None
            launch.signal_identity(row.identity, signal.SIGKILL)
            assert other.wait(10) == -signal.SIGKILL, "the very same one is hit"
        finally:
            other.kill()


def test_a_killed_sessions_bed_goes_with_the_next_one() -> None:
    name = f"orphan{os.getpid()}"
    argv = [sys.executable, "-c", OWNER, name]
    session = subprocess.Popen(argv, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert session.stdout is not None
    assert session.stdout.readline() == "up\n"
    folder = home(os.environ) / name
    card = Bed(folder).card
    sweep = [sys.executable, "-m", "tests.bed", "sweep"]
    subprocess.run(sweep, cwd=ROOT, check=True, capture_output=True)
    assert Bed(folder).running(), "its owner lives"
    session.kill()
    session.communicate()
    told = subprocess.run(sweep, cwd=ROOT, check=True, capture_output=True, text=True).stderr
    assert f"removed {folder}" in told.splitlines()
    assert left_of(card.mark, Block(card.block)) == []
    assert not folder.exists()
