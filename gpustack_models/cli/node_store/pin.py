"""Owns `gsm node-store pin`.

Refuses half a digest that names nothing the store knows.
"""

from __future__ import annotations

from typing import Annotated

import typer

from gpustack_models.cli import lazy, options
from gpustack_models.cli.node_store import common

app = lazy.single()


@app.command(epilog=lazy.examples("gsm node-store pin 669ed7b1 --note 'the demo of Friday'"))
def pin(
    digest: common.Digest,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why, for whoever wonders later.")] = "",
    root: common.Root = None,
    output: common.Output = common.Format.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """Keep a digest from every collection, until it is unpinned. A whole digest may be pinned before it is pulled."""
    from gpustack_models.cli.node_store import access
    from gpustack_models.cli.output import Output
    from gpustack_models.core.manifest import is_digest

    out, place = Output(quiet), common.root_of(root)
    with access.write(out, place, "gsm node-store pin") as writer:
        full = digest if is_digest(digest) else writer.digest(digest)
        pinned = writer.pin(full, note[:500])
    if output is common.Format.TABLE:
        out.table(("DIGEST", "SINCE", "NOTE"), [(pinned.digest, common.local(pinned.since.wall), pinned.note)])
    else:
        out.document(output, {"digest": pinned.digest, "since": common.stamp(pinned.since.wall), "note": pinned.note})
