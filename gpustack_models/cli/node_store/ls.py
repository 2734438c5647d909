"""Owns `gsm node-store ls`.

Refuses to take the store's lock: any number may look while one writes.
"""

from __future__ import annotations

from gpustack_models.cli import lazy, options
from gpustack_models.cli.node_store import common

app = lazy.single()


@app.command(epilog=lazy.examples("gsm node-store ls", "gsm node-store ls -o json | jq -r '.[].digest'"))
def ls(
    root: common.Root = None,
    output: common.Output = common.Format.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """List what the store has anything of, last used first: trees, downloads under way, failures, pins.

    Ready is published and verified; Downloading runs now; Failed waits for its retry time; Incomplete was asked for
    once and is not finished.
    """
    from gpustack_models.cli.node_store import show
    from gpustack_models.cli.output import Output
    from gpustack_models.store.models import models
    from gpustack_models.store.store import Store

    out = Output(quiet)
    with Store.open(common.root_of(root)) as store:
        found = models(store)
    show.models(out, output, found)
    if not found:
        out.note("nothing is here yet")
