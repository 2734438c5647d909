"""What is removed when a bed goes, from what was seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bed.cleaning import Facts, Plan, plan
from tests.bed.processes import Identity, Process

BOOT = "6f9e2c4e-0000-4000-8000-000000000000"
NOTHING = Facts((), {}, "m1", frozenset(), (), (), (), ())
ETCD, GUEST, SHIM, INSIDE, STRANGER = (Identity(pid, pid * 10, BOOT) for pid in range(1, 6))
ROWS = (
    Process(ETCD, 1, "S", mark="m1"),
    Process(GUEST, 1, "T", mark="m1"),
    Process(SHIM, 1, "S", mark="m1"),
    Process(INSIDE, 3, "S", cgroups=frozenset({"c1"})),
    Process(STRANGER, 1, "S", mark="m2"),
)
FACTS = Facts(
    rows=ROWS,
    recorded={"etcd": ETCD, "operator": GUEST},
    mark="m1",
    containers=frozenset({"c1"}),
    mounts=(Path("/b/n0/disk"), Path("/b")),
    loops=("/dev/loop0",),
    cgroups=(Path("/sys/fs/cgroup/pids/k8s.io/c1"),),
    addresses=("198.19.0.1",),
)
OWN = ("etcd", "containerd-0")


def test_guests_are_asked_and_the_rest_is_killed() -> None:
    assert plan(FACTS, OWN) == Plan(
        ask=(GUEST,),
        kill=(ETCD, SHIM, INSIDE),
        unmount=FACTS.mounts,
        detach=FACTS.loops,
        cgroups=FACTS.cgroups,
        addresses=FACTS.addresses,
    )


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(NOTHING, id="nothing was seen"),
        pytest.param(replace(NOTHING, rows=(ROWS[4],)), id="only another bed's process"),
        pytest.param(replace(NOTHING, recorded={"etcd": ETCD}), id="a record whose process is gone"),
        pytest.param(
            replace(NOTHING, recorded={"etcd": ETCD}, rows=(Process(replace(ETCD, start=11), 1, "S"),)),
            id="a record whose number went to another process",
        ),
        pytest.param(
            replace(NOTHING, recorded={"etcd": replace(ETCD, boot="before")}, rows=(Process(ETCD, 1, "S"),)),
            id="a record of before a reboot",
        ),
    ],
)
def test_nothing_is_planned_when(facts: Facts) -> None:
    assert plan(facts, OWN).empty


@pytest.mark.parametrize("field", ["mounts", "loops", "cgroups", "addresses"])
def test_what_is_left_without_processes_goes_too(field: str) -> None:
    assert not plan(replace(NOTHING, **{field: getattr(FACTS, field)}), OWN).empty


def test_a_bed_whose_card_is_gone_acts_on_its_records_alone() -> None:
    assert plan(replace(FACTS, mark="", containers=frozenset()), OWN).kill == (ETCD,)
