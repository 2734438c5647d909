"""Owns the reservation of an attempt: what is still to write fits under the high watermark, or is made to fit.

Refuses to remove anything when even all that may go would not make room.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from gpustack_models.core.manifest import FileDigest, Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import capacity, collect
from gpustack_models.store import plan as planning
from gpustack_models.store.capacity import Room, Usage, Watermarks
from gpustack_models.store.facts import Snapshot
from gpustack_models.store.handles import storing, sync_filesystem
from gpustack_models.store.plan import Plan
from gpustack_models.store.underway import Attempt
from gpustack_models.store.writer import Writer

#: What the other attempts have yet to write.
Outstanding = Callable[[], Iterable[Mapping[FileDigest, int]]]
_FREEING_SECONDS = 3.0


def reserve(
    writer: Writer,
    watermarks: Watermarks,
    attempt: Attempt,
    left: dict[FileDigest, int],
    others: Outstanding,
) -> None:
    """Reserve what an attempt has yet to write, until it ends; collect first when it does not fit.

    Raises GsmError(InsufficientCapacity): then nothing was written, and nothing removed in vain.
    """
    if _fits(writer, watermarks, attempt, left, others).missing == 0:
        return

    def decide(snapshot: Snapshot) -> Plan:
        room = _room(snapshot.usage, watermarks, left, others)
        best = planning.plan(snapshot, capacity.to_free(snapshot.usage, watermarks, room.outstanding, room.missing))
        return best if best.frees >= room.missing else planning.plan(snapshot, 0)

    done = collect.collect(writer, decide)
    room = _fits(writer, watermarks, attempt, left, others)
    until = time.monotonic() + _FREEING_SECONDS
    while room.missing and done.frees >= room.missing and time.monotonic() < until:
        # Some filesystems free what was deleted with their next transaction.
        with storing("the filesystem cannot be synced"):
            sync_filesystem(writer.root.partial)
        time.sleep(0.1)
        room = _fits(writer, watermarks, attempt, left, others)
    if room.missing:
        raise _too_little(attempt.digest, room, watermarks, done)


def check_copies(writer: Writer, watermarks: Watermarks, folder: Path, manifest: Manifest, copy: bool) -> None:
    """Make room for an import that cannot share its files. Raises GsmError(InsufficientCapacity) as `reserve` does."""
    with storing(f"{folder} cannot be looked at"):
        shared = folder.stat().st_dev == os.fstat(writer.root.partial.fd).st_dev
        if shared and not copy:
            return
        left = {entry.digest: entry.size for entry in manifest.entries if writer.blobs.find(entry.digest) is None}
    reserve(writer, watermarks, Attempt(manifest.digest, 0, 0.0, 0.0), left, lambda: ())


def _fits(
    writer: Writer, watermarks: Watermarks, attempt: Attempt, left: dict[FileDigest, int], others: Outstanding
) -> Room:
    # Under the guard, so that two attempts never reserve the same room.
    with writer.guard:
        room = _room(writer.usage(), watermarks, left, others)
        if not room.missing:
            attempt.left, attempt.planned = left, True
        return room


def _room(usage: Usage, watermarks: Watermarks, left: dict[FileDigest, int], others: Outstanding) -> Room:
    # A file that another attempt fetches too is written once.
    need = sum(left.values())
    return capacity.room(usage, watermarks, need, capacity.outstanding([*others(), left]) - need)


def _too_little(digest: str, room: Room, watermarks: Watermarks, plan: Plan) -> GsmError:
    kept = plan.kept
    holds = {"pinned": kept.pinned, "referenced": kept.referenced, "used in the last ten minutes": kept.recent}
    stays = ", ".join(f"{count} {why}" for why, count in holds.items() if count)
    return GsmError(
        Reason.INSUFFICIENT_CAPACITY,
        f"{digest} needs {_gib(room.need)} more, {_gib(room.outstanding)} are reserved, and {_gib(room.missing)} are "
        f"missing below the high watermark of {watermarks.high}%" + (f" (kept: {stays})" if stays else ""),
        hint="gsm node-store ls shows what takes room; rm and unpin free it, a larger disk or a higher watermark helps",
    )


def _gib(size: int) -> str:
    value = float(size)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
