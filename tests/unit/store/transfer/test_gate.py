"""Owns how streams are shared out: never too many, none starved, more only while they earn.

Refuses threads; the steps are called one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.store.sources import Limits
from gpustack_models.store.transfer.gate import Gate


@dataclass
class Clock:
    """A clock that is set."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def gate_of(concurrency: int = 8) -> tuple[Gate, Clock]:
    clock = Clock()
    return Gate(Limits(concurrency), clock), clock


def fill(gate: Gate, who: str) -> int:
    """As many streams as may begin; returns how many."""
    with gate.changed:
        count = 0
        while gate.may_enter(who):
            gate.enter(who)
            count += 1
        return count


@given(st.integers(1, 12), st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=80))
def test_never_more_streams_than_the_level(limit: int, steps: list[tuple[str, bool]]) -> None:
    gate, _ = gate_of(limit)
    running: list[str] = []
    with gate.changed:
        for who, begin in steps:
            if begin and gate.may_enter(who):
                gate.enter(who)
                running.append(who)
            elif not begin and who in running:
                running.remove(who)
                gate.leave(who)
            assert len(running) <= gate.level <= limit


def earn(gate: Gate, clock: Clock, looks: int, *, waited: float = 0.9) -> None:
    for _ in range(looks):
        clock.now += 0.5
        gate.worked(gate.level << 20, 1.0, waited)
        gate.look()


def test_streams_that_earn_are_joined_by_more() -> None:
    gate, clock = gate_of()
    assert fill(gate, "a") == 2
    earn(gate, clock, 3)
    assert gate.level == 4


def test_streams_that_this_machine_holds_back_are_not() -> None:
    gate, clock = gate_of()
    fill(gate, "a")
    earn(gate, clock, 6, waited=0.3)
    assert gate.level == 2


def test_an_attempt_that_waits_gets_its_share() -> None:
    gate, _ = gate_of()
    assert fill(gate, "first") == 2
    assert fill(gate, "second") == 0
    assert gate.should_yield("first")
    assert not gate.should_yield("second")
    with gate.changed:
        gate.leave("first")
        assert not gate.may_enter("first"), "it has one, and somebody who waits has none"
        assert gate.may_enter("second")
        gate.enter("second")
    assert not gate.should_yield("first")


def test_an_attempt_with_nothing_to_fetch_holds_nobody_up() -> None:
    gate, _ = gate_of()
    fill(gate, "first")
    fill(gate, "second")
    with gate.changed:
        gate.waits_no_more("second")
    assert not gate.should_yield("first")


def test_a_throttled_level_sheds_only_what_is_too_much() -> None:
    gate, clock = gate_of()
    fill(gate, "a")
    earn(gate, clock, 3)
    assert fill(gate, "a") == 2
    gate.throttled()
    assert [gate.should_yield("a") for _ in range(4)] == [True, True, False, False]


def test_a_host_is_left_alone_for_as_long_as_it_said() -> None:
    gate, clock = gate_of()
    host = ("https", "hub.example", 443)
    gate.hold(host, 10.0)
    gate.hold(host, 3.0)
    clock.now = 4.0
    assert (gate.held(host), gate.held(("https", "other.example", 443))) == (6.0, 0.0)
    clock.now = 11.0
    assert gate.held(host) == 0.0
