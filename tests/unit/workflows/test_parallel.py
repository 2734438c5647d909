"""Owns the promises of doing one thing to many: order, errors in place, a bound on threads."""

from __future__ import annotations

import threading

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.workflows.parallel import each


def test_results_are_in_the_order_of_the_items_and_errors_in_their_place() -> None:
    def work(item: int) -> int:
        if item % 3 == 0:
            raise GsmError(Reason.NOT_FOUND, str(item))
        return item * 10

    results = each(work, range(7))
    assert [result if isinstance(result, int) else result.message for result in results] == [
        "0", 10, 20, "3", 40, 50, "6",
    ]  # fmt: skip


def test_another_exception_ends_the_call() -> None:
    def work(item: int) -> int:
        raise ZeroDivisionError(item)

    with pytest.raises(ZeroDivisionError):
        each(work, [1, 2])


def test_no_more_threads_than_asked_for_and_as_many() -> None:
    together = threading.Barrier(3, timeout=10)
    running, most, lock = 0, 0, threading.Lock()

    def work(_item: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()
        with lock:
            running -= 1

    each(work, range(9), threads=3)
    assert most == 3


def test_no_item_starts_no_thread() -> None:
    before = threading.active_count()
    assert each(lambda item: item, []) == []
    assert threading.active_count() == before
