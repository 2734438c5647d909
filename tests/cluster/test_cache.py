"""Binaries are built once, whole or not at all, by one build at a time. The Go modules here are small and real."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bed import Bed, Options, processes
from tests.bed.cache import Cache
from tests.bed.errors import BedError
from tests.bed.layout import home

ROOT = Path(__file__).resolve().parents[2]
NAME = "kubeconform"
MODULE = "github.com/yannh/kubeconform"
MAIN = 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("built") }\n'

BUILDS = """
import os, sys
from pathlib import Path
from tests.bed.cache import Cache
print(Cache(os.environ, modules=Path(sys.argv[1])).ensure("kubeconform")["kubeconform"])
"""


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """A folder of modules with one, whose source is on this disk."""
    module = tmp_path / "modules" / NAME
    command = module / "source" / "cmd" / NAME
    command.mkdir(parents=True)
    (command / "main.go").write_text(MAIN)
    (module / "source" / "go.mod").write_text(f"module {MODULE}\n\ngo 1.21\n")
    (module / "go.mod").write_text(
        f"module testbed.invalid/{NAME}\n\ngo 1.21\n\nrequire {MODULE} v0.8.0\n\nreplace {MODULE} => ./source\n"
    )
    (module / "go.sum").write_text("")
    return tmp_path / "modules"


def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "KUBEBUILDER_ASSETS"}
    # The compiler's own cache stays where it is: it is not what is tested, and cold it takes a minute.
    go_cache = subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    return {**kept, "XDG_CACHE_HOME": str(tmp_path / "cache"), "GOCACHE": go_cache}


def build(tmp_path: Path, modules: Path) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", BUILDS, str(modules)]
    return subprocess.Popen(
        argv,
        cwd=ROOT,
        env=environment(tmp_path),
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_second_run_builds_nothing_and_needs_no_go(tmp_path: Path, modules: Path) -> None:
    told: list[str] = []
    first = Cache(environment(tmp_path), told.append, modules).ensure(NAME)[NAME]
    assert subprocess.run([first], capture_output=True, text=True, check=True).stdout == "built\n"
    assert len(told) == 1
    assert Cache({**environment(tmp_path), "PATH": ""}, told.append, modules).ensure(NAME) == {NAME: first}
    assert len(told) == 1


def test_two_builds_at_once_are_one(tmp_path: Path, modules: Path) -> None:
    running = [build(tmp_path, modules) for _ in range(2)]
    said = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert len({out for out, _ in said}) == 1
    lines = sorted(line.split(" ")[0] for _, err in said for line in err.splitlines())
    assert lines.count("building") == 1, lines


def test_a_killed_build_leaves_no_binary_and_the_next_one_builds(tmp_path: Path, modules: Path) -> None:
    process = build(tmp_path, modules)
    folder = Cache(environment(tmp_path), modules=modules).folder(NAME)
    deadline = time.monotonic() + 30
    while not list(folder.glob(".build-*")) and time.monotonic() < deadline:
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert [path.name for path in folder.iterdir() if not path.name.startswith(".")] == []
    assert list(folder.glob(".build-*")), "it was killed in the middle"
    cache = Cache(environment(tmp_path), modules=modules)
    assert cache.find(NAME) is None
    assert cache.ensure(NAME)[NAME].exists()
    assert not list(folder.glob(".build-*"))


def test_other_sums_are_another_folder_and_prune_removes_the_old(tmp_path: Path, modules: Path) -> None:
    cache = Cache(environment(tmp_path), modules=modules)
    old = cache.ensure(NAME)[NAME]
    (modules / NAME / "go.sum").write_text("\n")
    new = cache.ensure(NAME)[NAME]
    assert new.parent != old.parent
    assert cache.prune() == [old.parent]
    assert new.exists()


def test_source_that_does_not_compile_is_an_error_with_the_compilers_words(tmp_path: Path, modules: Path) -> None:
    (modules / NAME / "source" / "cmd" / NAME / "main.go").write_text(
        "package main\n\nfunc main() { undefinedCall() }\n"
    )
    with pytest.raises(BedError, match="undefinedCall"):
        Cache(environment(tmp_path), modules=modules).ensure(NAME)


def test_assets_stand_in_for_the_control_plane_and_for_nothing_else(tmp_path: Path, bed: Bed) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kube-apiserver"):
        found = bed.cache.find(name)
        assert found is not None
        shutil.copy(found, assets / name)
    (assets / "kubeconform").write_text("#!/bin/sh\n")
    (assets / "kubeconform").chmod(0o755)
    chosen = {**os.environ, "KUBEBUILDER_ASSETS": str(assets)}
    assert Cache(chosen).find("kubeconform") != assets / "kubeconform"
    other = Bed(home(os.environ) / f"assets{os.getpid()}", Options(owner=processes.current()), chosen)
    try:
        other.up()
        run = {name: executable(other, name) for name in ("etcd", "kube-apiserver", "kube-scheduler")}
        assert run["etcd"] == assets / "etcd"
        assert run["kube-apiserver"] == assets / "kube-apiserver"
        assert run["kube-scheduler"] == bed.cache.find("kube-scheduler")
    finally:
        other.down()


def executable(bed: Bed, name: str) -> Path:
    identity = bed.supervisor.identity(name)
    assert identity is not None
    return Path(f"/proc/{identity.pid}/exe").readlink()


def test_a_machine_without_go_is_told_in_one_line(tmp_path: Path) -> None:
    bare = {"PATH": str(tmp_path), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "tests.bed", "lacks", "cluster"]
    told = subprocess.run(argv, cwd=ROOT, env=bare, capture_output=True, text=True)
    assert told.returncode == 1
    assert told.stdout == ""
    assert len(told.stderr.splitlines()) == 1
    assert "no Go to build etcd, kube-apiserver, kube-controller-manager, kube-scheduler" in told.stderr
