"""Owns the arithmetic of room: usage, watermarks, reservations, what a collection must free, kubelet's cap.

Refuses I/O: it is handed what the filesystem says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpustack_models.core.manifest import FileDigest
from gpustack_models.errors import GsmError, Reason

#: Kubelet's defaults, and the distance kept below them (node-store.md, "Collection").
NODEFS_AVAILABLE = 10
IMAGEFS_AVAILABLE = 15
IMAGE_GC_HIGH = 85
KUBELET_MARGIN = 5


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Percentages of the filesystem: above `high` a collection begins, down to `low` it removes.

    Raises GsmError(InvalidInput) unless 0 <= low < high <= 100.
    """

    high: int = 80
    low: int = 70

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 100:
            raise GsmError(
                Reason.INVALID_INPUT,
                f"watermarks high {self.high} and low {self.low}: 0 <= low < high <= 100 must hold",
                hint="lower the low one, or raise the high one",
            )


@dataclass(frozen=True, slots=True)
class Usage:
    """A filesystem: its size and what counts as used, in bytes. Root's reserved blocks count as used."""

    total: int
    used: int

    @classmethod
    def of(cls, blocks: int, available: int, block_size: int) -> Usage:
        """From statvfs: `f_blocks`, `f_bavail`, `f_frsize`."""
        return cls(blocks * block_size, (blocks - available) * block_size)

    @property
    def free(self) -> int:
        """Bytes that may still be written."""
        return self.total - self.used

    @property
    def percent(self) -> float:
        """How full it is; a filesystem without a size is full."""
        return 100 * self.used / self.total if self.total else 100.0

    def at(self, percent: int) -> int:
        """The bytes used at a percentage."""
        return self.total * percent // 100


@dataclass(frozen=True, slots=True)
class Room:
    """How a reservation stands: bytes asked for, bytes that running attempts have yet to write, bytes to free first."""

    need: int
    outstanding: int
    missing: int


def outstanding(attempts: Iterable[Mapping[FileDigest, int]]) -> int:
    """Bytes that running attempts have yet to write; a file that two of them want counts once."""
    left: dict[FileDigest, int] = {}
    for attempt in attempts:
        for digest, size in attempt.items():
            left[digest] = min(size, left.get(digest, size))
    return sum(left.values())


def room(usage: Usage, marks: Watermarks, need: int, others: int) -> Room:
    """What must be freed before `need` bytes fit under the high watermark beside the others' (0: nothing)."""
    return Room(need, others, max(0, usage.used + others + need - usage.at(marks.high)))


def to_free(usage: Usage, marks: Watermarks, others: int, missing: int = 0) -> int:
    """What a collection must free: nothing below the high watermark, else down to the low one.

    With a reservation that misses bytes, at least these.
    """
    used = usage.used + others
    if not missing and used <= usage.at(marks.high):
        return 0
    return max(missing, used - usage.at(marks.low))


@dataclass(frozen=True, slots=True)
class KubeletThresholds:
    """A node's effective eviction and image collection thresholds; None is unset. Quantities are `"10%"` or bytes."""

    nodefs_available: str | int | None = None
    imagefs_available: str | int | None = None
    image_gc_high_percent: int | None = None


@dataclass(frozen=True, slots=True)
class Capped:
    """Watermarks below what would make kubelet evict; `notes` say when a cap applies and from what."""

    watermarks: Watermarks
    notes: tuple[str, ...] = ()


def capped(marks: Watermarks, kubelet: KubeletThresholds, total: int) -> Capped:
    """The watermarks of a store that shares kubelet's filesystem of `total` bytes."""
    notes: list[str] = []
    nodefs = _percent("nodefs.available", kubelet.nodefs_available, NODEFS_AVAILABLE, total, notes)
    imagefs = _percent("imagefs.available", kubelet.imagefs_available, IMAGEFS_AVAILABLE, total, notes)
    images = kubelet.image_gc_high_percent if kubelet.image_gc_high_percent is not None else IMAGE_GC_HIGH
    cap, source = min(
        (100 - nodefs - KUBELET_MARGIN, "nodefs.available"),
        (100 - imagefs - KUBELET_MARGIN, "imagefs.available"),
        (images - KUBELET_MARGIN, "imageGCHighThresholdPercent"),
    )
    cap = max(cap, 1)
    if cap >= marks.high:
        return Capped(marks, tuple(notes))
    low = max(0, min(marks.low, cap - (marks.high - marks.low)))
    notes.append(f"high watermark {marks.high}% capped at {cap}% by {source}")
    return Capped(Watermarks(cap, low), tuple(notes))


def _percent(name: str, value: str | int | None, default: int, total: int, notes: list[str]) -> int:
    if value is None:
        return default
    if isinstance(value, str):
        number = value.removesuffix("%")
        if value.endswith("%") and number.replace(".", "", 1).isdigit() and float(number) < 100:
            return -(-int(float(number) * 100) // 100)
        notes.append(f"{name} {value!r} is not understood and ignored")
        return default
    if not 0 <= value < total:
        notes.append(f"{name} of {value} bytes is not below the filesystem's {total} and ignored")
        return default
    return -(-100 * value // total)
