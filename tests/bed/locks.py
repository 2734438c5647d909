"""Owns locks between processes: a file that one holder at a time has locked, and that ends with its holder.

Refuses files that are left over: a lock that its holder removes is one for nobody else.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(path: Path, waiting: Callable[[], None] = lambda: None, remove: bool = False) -> Iterator[None]:
    """Hold the lock in ``path``; ``waiting`` is called when another holds it, ``remove`` takes the file away after.

    Whoever waited for a file that was removed meanwhile holds nothing: it takes the new one.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        with path.open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(handle, fcntl.LOCK_EX)
            if not _same(handle.fileno(), path):
                continue
            try:
                yield
            finally:
                if remove:
                    path.unlink()
            return


def _same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
