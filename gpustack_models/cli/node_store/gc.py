"""Owns `gsm node-store gc`.

Refuses to remove what it does not print.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack_models.cli import lazy, options
from gpustack_models.cli.node_store import common

if TYPE_CHECKING:
    from gpustack_models.store.facts import Snapshot
    from gpustack_models.store.plan import Plan

app = lazy.single()


@app.command(
    epilog=lazy.examples(
        "gsm node-store gc --dry-run", "gsm node-store gc", "gsm node-store gc --target 50 --dry-run -o json"
    )
)
def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the very plan that a run executes.")] = False,
    target: Annotated[
        int | None,
        typer.Option("--target", metavar="PERCENT", min=0, max=100, help="Remove until no more of the disk is used."),
    ] = None,
    high: common.High = common.HIGH,
    low: common.Low = common.LOW,
    root: common.Root = None,
    output: common.Output = common.Format.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """Remove what nobody needs: with the disk above the high watermark, trees down to the low one, least recently used
    first; in any case downloads that nobody asked for in a day, files no tree uses, and failures of yesterday.

    What is mounted or pinned, under way, or was used in the last ten minutes is never removed, whatever the target.
    """
    from gpustack_models.cli.node_store import access, show
    from gpustack_models.cli.output import Output
    from gpustack_models.store import capacity
    from gpustack_models.store import plan as planning
    from gpustack_models.store.collect import execute
    from gpustack_models.store.models import running
    from gpustack_models.store.scan import Scanner
    from gpustack_models.store.store import Store

    out, place, marks = Output(quiet), common.root_of(root), common.watermarks(high, low)

    def decide(snapshot: Snapshot) -> Plan:
        usage = snapshot.usage
        wanted = capacity.to_free(usage, marks, 0) if target is None else max(0, usage.used - usage.at(target))
        return planning.plan(snapshot, wanted)

    with Store.open(place) as store:
        if dry_run:
            under_way = {download.digest: None for download in running(store, store.holder())}
            show.plan(out, output, decide(Scanner(store).snapshot(under_way)), done=False)
            return
    with access.write(out, place, "gsm node-store gc") as writer:
        done = execute(writer, decide(writer.snapshot()), decide)
    show.plan(out, output, done, done=True)
