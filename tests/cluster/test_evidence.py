"""What a person sees of a session: the evidence of a failure, and why a tier could not run."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLANTED = "hf_planted0123456789"

FAILS = """
import os
from tests.bed.launch import wait_until

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waits"}, "spec": {
    "containers": [{"name": "main", "image": "bed.local/busybox:1"}]}}

def test_passes(bed):
    bed.spawn("early", ["/bin/sh", "-c", "echo spoken before"])
    wait_until(lambda: "before" in bed.supervisor.tail("early"), 60, "the guest")

def test_fails(bed, namespace):
    namespace.kubectl("create", "configmap", "witness", "--from-literal=saw=it")
    namespace.kubectl("create", "secret", "generic", "locked", "--from-literal=token=" + os.environ["PLANTED"])
    namespace.kubectl.create(POD)
    bed.spawn("guest", ["/bin/sh", "-c", "echo the guest spoke"])
    wait_until(lambda: "spoke" in bed.supervisor.tail("guest"), 60, "the guest")
    wait_until(lambda: "FailedScheduling" in namespace.kubectl("get", "events"), 60, "the event", 0.2)
    assert False, "on purpose"

def test_fails_without_an_api_server(bed, namespace):
    bed.faults.stop_apiserver()
    try:
        assert False, "on purpose too"
    finally:
        pass
"""


def session(folder: Path, content: str, **environment: str) -> tuple[int, str]:
    (folder / "test_inner.py").write_text(content)
    (folder / "pytest.ini").write_text("[pytest]\n")
    argv = [sys.executable, "-m", "pytest", "-p", "tests.cluster.conftest", "-rs", "-c", str(folder / "pytest.ini")]
    run = subprocess.run(
        [*argv, str(folder)], cwd=ROOT, env={**os.environ, **environment}, text=True, capture_output=True, timeout=120
    )
    return run.returncode, run.stdout + run.stderr


def test_a_failure_shows_logs_events_and_objects_and_no_secret(tmp_path: Path) -> None:
    code, said = session(tmp_path, FAILS, PLANTED=PLANTED)
    assert code == 1
    first, _, second = said.partition("on purpose too")
    assert "the guest spoke" in first
    assert "spoken before" not in said, "another test's log"
    assert "FailedScheduling" in first
    assert '"saw": "it"' in first
    assert "Secrets (names only): locked" in first
    assert PLANTED not in said
    assert base64.b64encode(PLANTED.encode()).decode() not in said
    assert "could not be read" in second, "a failure without an API server still reports"


@pytest.mark.parametrize(
    ("ci", "code", "outcome"),
    [pytest.param("", 0, "SKIPPED", id="a person's"), pytest.param("true", 1, "ERROR", id="CI")],
)
def test_a_machine_that_lacks_something_skips_for_a_person_and_fails_in_ci(
    tmp_path: Path, ci: str, code: int, outcome: str
) -> None:
    bare = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "KUBEBUILDER_ASSETS": "", "CI": ci}
    got, said = session(tmp_path, "def test_needs(bed): ...\n", **bare)
    assert got == code, said
    assert outcome in said
    assert "the cluster tier cannot run here: no Go to build etcd" in said
