"""Owns `gsm node-store unpin`.

Refuses what is not pinned.
"""

from __future__ import annotations

from gpustack_models.cli import lazy, options
from gpustack_models.cli.node_store import common

app = lazy.single()


@app.command(epilog=lazy.examples("gsm node-store unpin 669ed7b1"))
def unpin(
    digest: common.Digest,
    root: common.Root = None,
    output: common.Output = common.Format.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """Let collections remove a digest again, ten minutes from now at the earliest."""
    from gpustack_models.cli.node_store import access
    from gpustack_models.cli.output import Output
    from gpustack_models.errors import GsmError, Reason

    out, place = Output(quiet), common.root_of(root)
    with access.write(out, place, "gsm node-store unpin") as writer:
        full = writer.digest(digest)
        if not writer.unpin(full):
            raise GsmError(Reason.NOT_FOUND, f"{full} is not pinned", hint="gsm node-store ls shows what is")
    if output is common.Format.TABLE:
        out.table(("DIGEST", "PINNED"), [(full, "no")])
    else:
        out.document(output, {"digest": full, "pinned": False})
