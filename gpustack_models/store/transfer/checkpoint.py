"""Owns the checkpoints of a file under way: how they are written, and which prefix of the bytes on disk they vouch for.

Refuses trust without a hash: a checkpoint is a claim, and only the bytes read again from the disk confirm it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpustack_models.core.manifest import FileDigest

#: A checkpoint is written every so many bytes (node-store.md, "An attempt" 5).
INTERVAL = 64 << 20
SUFFIX = ".checkpoints"
#: Room for one line for each 64 MiB of 6 TiB; more is not ours.
MAX_BYTES = 8 << 20

_FORMAT = "gpustack-partial 1"
_LINE = re.compile(r"(0|[1-9][0-9]{0,18}) ([0-9a-f]{40,64})\n")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The first `position` bytes have the running digest `hex`, by the algorithm that names the file."""

    position: int
    hex: str


def header(digest: FileDigest, size: int) -> bytes:
    """The first line: the format, the file's digest, its size in bytes."""
    return f"{_FORMAT} {digest} {size}\n".encode()


def line(checkpoint: Checkpoint) -> bytes:
    """One more checkpoint, appended after the data before it was synced."""
    return f"{checkpoint.position} {checkpoint.hex}\n".encode()


def parse(data: bytes, digest: FileDigest, size: int) -> tuple[Checkpoint, ...]:
    """The checkpoints of this very file, ascending; what a torn write or another format left is none."""
    first = header(digest, size)
    if not data.startswith(first):
        return ()
    return tuple(_lines(data[len(first) :].decode("ascii", "replace"), digest.algorithm.hex_length, size))


def due(position: int, last: int) -> bool:
    """Whether the next checkpoint after the one at `last` is due at `position`."""
    return position - last >= INTERVAL


def kept(checkpoints: Iterable[Checkpoint]) -> int:
    """How many bytes the checkpoints claim: what a resume will keep, if the disk agrees."""
    return max((checkpoint.position for checkpoint in checkpoints), default=0)


def _lines(text: str, hex_length: int, size: int) -> Iterator[Checkpoint]:
    at, last = 0, 0
    while match := _LINE.match(text, at):
        position, hexadecimal = int(match[1]), match[2]
        if len(hexadecimal) != hex_length or not last < position <= size:
            return
        yield Checkpoint(position, hexadecimal)
        at, last = match.end(), position
