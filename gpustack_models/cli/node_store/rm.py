"""Owns `gsm node-store rm`.

Refuses what is mounted or pinned.
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


@app.command(epilog=lazy.examples("gsm node-store rm 669ed7b1", "gsm node-store rm 669ed7b1 --dry-run"))
def rm(
    digest: common.Digest,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would go.")] = False,
    root: common.Root = None,
    output: common.Output = common.Format.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """Remove one digest: its tree and the files that nothing else uses, what was fetched of it, its failure record."""
    from gpustack_models.cli.node_store import access, show
    from gpustack_models.cli.output import Output
    from gpustack_models.store import plan as planning
    from gpustack_models.store.collect import check_removable, execute, forget
    from gpustack_models.store.handles import storing
    from gpustack_models.store.scan import Scanner
    from gpustack_models.store.store import Store

    out, place = Output(quiet), common.root_of(root)
    with Store.open(place) as store:
        full = store.digest(digest)
        check_removable(store, full)

        def decide(snapshot: Snapshot) -> Plan:
            return planning.removal_of(snapshot, full)

        if dry_run:
            show.plan(out, output, decide(Scanner(store).snapshot()), done=False)
            return
    with access.write(out, place, "gsm node-store rm") as writer, writer.guard:
        check_removable(writer, full)
        done = execute(writer, decide(writer.snapshot()), decide)
        with storing(f"the records of {full} cannot be removed"):
            forget(writer, full)
    show.plan(out, output, done, done=True)
