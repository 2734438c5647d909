"""Owns how models, downloads, plans and trees of a store look, in tables and in machine formats.

Refuses to read a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpustack_models.cli.node_store.common import Format, lasting, local, stamp, without_nothing
from gpustack_models.cli.output import Output, counted, size_text
from gpustack_models.store.models import Model, State
from gpustack_models.store.plan import Plan
from gpustack_models.store.progress import Download


def models(out: Output, output: Format, found: Sequence[Model]) -> None:
    """The models of a store."""
    if output is not Format.TABLE:
        out.document(output, [model_object(model) for model in found])
    elif found:
        out.table(("DIGEST", "STATE", "SIZE", "HELD BY", "LAST USED", "NAME"), [_model_row(model) for model in found])


def model_object(model: Model) -> dict[str, Any]:
    """A model for machines; the names are those of a NodeModelStore's status where it has them."""
    return without_nothing(
        {
            "digest": model.digest,
            "state": str(model.state),
            "names": list(model.names),
            "fileCount": model.files,
            "sizeBytes": model.size,
            "downloadedBytes": model.downloaded,
            "references": model.references,
            "pinned": model.pinned,
            "lastUsedTime": stamp(model.last_used),
            "source": model.source,
            "reason": str(model.reason) if model.reason else None,
            "message": model.message,
            "failures": model.failures or None,
            "retryTime": stamp(model.retry_time),
        }
    )


def _model_row(model: Model) -> tuple[str, ...]:
    held = [*(["pin"] if model.pinned else []), *([counted(model.references, "mount")] if model.references else [])]
    size = "" if model.size is None else size_text(model.size)
    if model.size and model.downloaded is not None and model.state is not State.READY:
        size = f"{100 * model.downloaded // model.size}% of {size}"
    used = "" if model.last_used is None else local(model.last_used)
    return model.digest, str(model.state), size, ", ".join(held), used, model.names[-1] if model.names else ""


def download_object(download: Download) -> dict[str, Any]:
    """A running download for machines."""
    return without_nothing(
        {
            "digest": download.digest,
            "name": download.name,
            "phase": download.phase,
            "downloadedBytes": download.downloaded,
            "sizeBytes": download.size,
            "bytesPerSecond": round(download.rate),
            "secondsLeft": None if download.seconds_left is None else round(download.seconds_left),
            "startTime": stamp(download.since),
            "source": download.source,
        }
    )


def plan(out: Output, output: Format, planned: Plan, done: bool) -> None:
    """What a collection removes, or removed."""
    usage = planned.usage
    after = usage.used - planned.frees
    if output is not Format.TABLE:
        out.document(
            output,
            {
                "executed": done,
                "removals": [
                    {"kind": str(each.kind), "name": each.name, "why": each.why, "bytes": each.bytes}
                    for each in planned.removals
                ],
                "freesBytes": planned.frees,
                "wantedBytes": planned.wanted,
                "usedBytesBefore": usage.used,
                "usedBytesAfter": after,
                "totalBytes": usage.total,
                "kept": {
                    "referenced": planned.kept.referenced,
                    "pinned": planned.kept.pinned,
                    "running": planned.kept.running,
                    "recent": planned.kept.recent,
                },
            },
        )
        return
    if planned.removals:
        rows = [(str(each.kind), each.name, size_text(each.bytes), each.why) for each in planned.removals]
        out.table(("KIND", "NAME", "FREES", "WHY"), rows)
    verb = "freed" if done else "would free"
    percent = 100 * after / usage.total if usage.total else 0.0
    out.note(f"{verb} {size_text(planned.frees)}; the filesystem is then {percent:.1f}% full")
    kept = planned.kept
    holds = {"referenced": kept.referenced, "pinned": kept.pinned, "under way": kept.running}
    holds["used in the last ten minutes"] = kept.recent
    stays = [f"{counted(count, 'tree')} {why}" for why, count in holds.items() if count]
    if stays:
        out.note(f"kept: {', '.join(stays)}")
    if not planned.enough:
        out.note(f"{size_text(planned.wanted - planned.frees)} more were wanted, and nothing else may go")


def ago(seconds: float) -> str:
    """An age as a person reads it."""
    return f"{lasting(seconds)} ago"
