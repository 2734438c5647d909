"""Owns how the bytes of one open file get into another: a reflink where the filesystem can, else a copy that is hashed.

Refuses names; it is handed open files.
"""

from __future__ import annotations

import fcntl
import os

from gpustack_models.store.handles import write_all
from gpustack_models.store.hashing import CHUNK, Hasher

#: `FICLONE` of linux/fs.h: share the extents; the copy is private from the first write on.
_FICLONE = 0x40049409


def clone(source: int, target: int) -> bool:
    """Make `target` a reflink of `source`; False where the filesystem cannot."""
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True


def copy(source: int, target: int, hasher: Hasher | None = None) -> int:
    """Copy every byte from the start of `source`, hashing what is written. Returns the bytes copied."""
    buffer = bytearray(CHUNK)
    view = memoryview(buffer)
    offset = 0
    while read := os.preadv(source, (buffer,), offset):
        if hasher:
            hasher.update(view[:read])
        write_all(target, view[:read])
        offset += read
    return offset
