"""Owns `gsm node-store status`.

Refuses to take the store's lock: any number may look while one writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpustack_models.cli import lazy, options
from gpustack_models.cli.node_store import common

if TYPE_CHECKING:
    from pathlib import Path

    from gpustack_models.cli.output import Output
    from gpustack_models.store.capacity import Watermarks
    from gpustack_models.store.models import Status

app = lazy.single()


@app.command(epilog=lazy.examples("gsm node-store status", "gsm node-store status -o json | jq .downloads"))
def status(
    root: common.Root = None,
    high: common.High = common.HIGH,
    low: common.Low = common.LOW,
    output: common.Output = common.Format.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """Say how the store stands: room and watermarks, who writes, downloads with rate and time left, failures with the
    time of their next try.
    """
    from gpustack_models.cli.output import Output
    from gpustack_models.store import models
    from gpustack_models.store.store import Store

    out, place, marks = Output(quiet), common.root_of(root), common.watermarks(high, low)
    with Store.open(place) as store:
        found = models.status(store)
    if output is common.Format.TABLE:
        _show(out, place, found, marks)
    else:
        out.document(output, _object(place, found, marks))


def _show(out: Output, place: Path, found: Status, marks: Watermarks) -> None:
    from gpustack_models.cli.node_store.access import told
    from gpustack_models.cli.output import counted, size_text
    from gpustack_models.store.models import State

    usage = found.usage
    states = [f"{_count(found, state)} {str(state).lower()}" for state in State if _count(found, state)]
    holder = f"{found.holder}, since {common.local(found.holder.since)}" if found.holder else "nobody"
    fields = [
        ("root", str(place)),
        ("models", ", ".join(states) or "none"),
        ("stored", size_text(found.stored)),
        ("filesystem", f"{usage.percent:.1f}% of {size_text(usage.total)} used, {size_text(usage.free)} free"),
        ("watermarks", f"high {marks.high}%, low {marks.low}%"),
        ("writer", holder),
    ]
    fields += [("downloading", told(each)) for each in found.downloads]
    for model in found.models:
        if model.reason:
            when = f"next try at {common.local(model.retry_time)}" if model.retry_time else "may be tried now"
            times = counted(model.failures, "failure")
            fields.append(("failed", f"{model.digest}: {model.reason}: {model.message} ({times}, {when})"))
    out.fields(fields)


def _count(found: Status, state: object) -> int:
    return sum(model.state is state for model in found.models)


def _object(place: Path, found: Status, marks: Watermarks) -> dict[str, Any]:
    from gpustack_models.cli.node_store.show import download_object, model_object

    usage, holder = found.usage, found.holder
    return {
        "root": str(place),
        "capacity": {
            "totalBytes": usage.total,
            "usedBytes": usage.used,
            "freeBytes": usage.free,
            "storedBytes": found.stored,
            "usedPercent": round(usage.percent, 1),
        },
        "watermarks": {"highPercent": marks.high, "lowPercent": marks.low},
        "writer": None
        if holder is None
        else {"pid": holder.pid, "command": holder.command, "since": common.stamp(holder.since)},
        "downloads": [download_object(each) for each in found.downloads],
        "failures": [model_object(model) for model in found.models if model.reason],
        "models": len(found.models),
    }
