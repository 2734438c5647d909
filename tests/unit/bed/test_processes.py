"""A process is known by more than its number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bed.processes import Identity, Process, belonging, format_record, parse_record, parse_stat

BOOT = "6f9e2c4e-0000-4000-8000-000000000000"
ME = Identity(4711, 100, BOOT)


def stat(pid: int, name: str, start: int, parent: int = 1, state: str = "S", threads: int = 1) -> str:
    return f"{pid} ({name}) {state} {parent} {'0 ' * 15}{threads} 0 {start} 0 0"


@given(name=st.text(max_size=30), pid=st.integers(1, 1 << 22), start=st.integers(0, 1 << 62))
def test_a_stat_line_is_read_whatever_the_name_holds(name: str, pid: int, start: int) -> None:
    assert parse_stat(stat(pid, name, start, 7, "R", 3), BOOT) == Process(Identity(pid, start, BOOT), 7, "R", 3)


@given(pid=st.integers(1, 1 << 22), start=st.integers(0, 1 << 62))
def test_a_record_is_read_back(pid: int, start: int) -> None:
    identity = Identity(pid, start, BOOT)
    assert parse_record(format_record(identity)) == identity


def test_a_record_as_the_shell_writes_it() -> None:
    assert parse_record(f"{BOOT}\n{stat(4711, 'sh', 100)}\n") == ME


@pytest.mark.parametrize("length", [0, 5, 37, 40, 60])
def test_a_record_cut_short_is_none(length: int) -> None:
    assert parse_record(f"{BOOT}\n{stat(4711, 'sh', 100)}"[:length]) is None


@pytest.mark.parametrize(
    ("row", "ours"),
    [
        pytest.param(Process(ME, 1, "S"), True, id="recorded"),
        pytest.param(Process(Identity(4711, 101, BOOT), 1, "S"), False, id="another process with its number"),
        pytest.param(
            Process(Identity(4711, 100, "before"), 1, "S"), False, id="the same number and time, another boot"
        ),
        pytest.param(Process(Identity(5, 5, BOOT), 4711, "S"), False, id="a child without a mark"),
        pytest.param(Process(Identity(5, 5, BOOT), 1, "S", mark="m1"), True, id="marked"),
        pytest.param(Process(Identity(5, 5, BOOT), 1, "S", mark="m2"), False, id="another bed's mark"),
        pytest.param(Process(Identity(5, 5, BOOT), 1, "S", mark=""), False, id="no mark"),
        pytest.param(
            Process(Identity(5, 5, BOOT), 1, "S", cgroups=frozenset({"k8s.io", "c1"})), True, id="in its container"
        ),
        pytest.param(
            Process(Identity(5, 5, BOOT), 1, "S", cgroups=frozenset({"k8s.io", "c2"})), False, id="in another container"
        ),
        pytest.param(Process(ME, 1, "Z"), False, id="a zombie runs nothing"),
        pytest.param(Process(ME, 1, "Z", threads=2), True, id="a zombie with a thread holds its ports"),
    ],
)
def test_belonging(row: Process, ours: bool) -> None:
    assert belonging([row], [ME], "m1", ["c1"]) == ((row,) if ours else ())


def test_a_bed_without_a_mark_owns_nothing_unmarked() -> None:
    row = Process(Identity(5, 5, BOOT), 1, "S")
    assert belonging([row], [], "", []) == ()
