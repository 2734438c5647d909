"""Owns doing one thing to many objects at once, on a bounded number of threads.

Refuses to outlive an interrupt: the threads are daemons, so a hub that stalls holds nobody.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar

from gpustack_models.errors import GsmError

T = TypeVar("T")
R = TypeVar("R")

#: A hub's rate limits, not this machine, bound how many questions at once make sense.
THREADS = 8


def each(work: Callable[[T], R], items: Sequence[T], threads: int = THREADS) -> list[R | GsmError]:
    """What `work` gave for each item, or the GsmError that it raised, in the order of the items.

    Any other exception ends the whole call with itself.
    """
    waiting: SimpleQueue[int] = SimpleQueue()
    done: SimpleQueue[tuple[int, R | BaseException]] = SimpleQueue()
    for index in range(len(items)):
        waiting.put(index)

    def run() -> None:
        while True:
            try:
                index = waiting.get_nowait()
            except Empty:
                return
            try:
                done.put((index, work(items[index])))
            except BaseException as error:  # noqa: BLE001 - it is raised again in the caller's thread
                done.put((index, error))

    for number in range(min(threads, len(items))):
        threading.Thread(target=run, name=f"each-{number}", daemon=True).start()
    results: dict[int, R | GsmError] = {}
    while len(results) < len(items):
        index, result = done.get()
        if isinstance(result, BaseException) and not isinstance(result, GsmError):
            raise result
        results[index] = result
    return [results[index] for index in range(len(items))]
