"""Owns `gsm node-store verify`.

Refuses to leave visible what it found broken, unless another process is the writer; then it says so.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack_models.cli import lazy, options
from gpustack_models.cli.node_store import common

if TYPE_CHECKING:
    from pathlib import Path

    from gpustack_models.cli.output import Output
    from gpustack_models.store.store import Store

app = lazy.single()


@app.command(
    epilog=lazy.examples(
        "gsm node-store verify",
        "gsm node-store verify 669ed7b1 --repair",
        "gsm node-store verify --repair --from http://gpu-1:8300",
    )
)
def verify(
    digests: Annotated[
        list[str] | None, typer.Argument(metavar="DIGEST", help="Only these; everything unless told.")
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Fetch what is broken again, from a peer or the hub it came from.")
    ] = False,
    peers: common.Peers = None,
    threads: options.Threads = None,
    root: common.Root = None,
    output: common.Output = common.Format.TABLE,
    endpoint: options.Endpoint = None,
    token_file: options.TokenFile = None,
    timeout: options.Timeout = None,
    quiet: options.Quiet = False,
) -> int:
    """Hash what is published again, every byte, and compare every tree with its manifest.

    What is broken is taken out of sight at once: its trees are not published any more, so that nothing mounts them, and
    what is mounted already keeps its files. With --repair only the broken files are fetched, the trees are published
    again, and under a mount each good file takes its bad one's name.
    """
    from gpustack_models.cli.asking import Asking
    from gpustack_models.cli.node_store import repairing
    from gpustack_models.cli.output import Output
    from gpustack_models.workflows import mend

    out, place, asked = Output(quiet), common.root_of(root), common.peers_of(peers)
    with ExitStack() as stack:
        store = _opened(out, place, repair, stack)
        full = [store.digest(digest) for digest in digests or []]
        bars = stack.enter_context(ExitStack())
        found = mend.verify(store, full, threads, lambda total: bars.enter_context(out.progress("hashing", total)))
        bars.close()
        again = mend.repairable(store, found, full)
        if repair and not full:
            again += [each for each in mend.broken_before(store) if each not in again]
        repaired = None
        if repair and again:
            ask = Asking(endpoint, token_file, timeout)
            repaired = repairing.repair(out, place, store, again, asked, ask, stack)
    return repairing.show(out, output, found, repaired)


def _opened(out: Output, place: Path, repair: bool, stack: ExitStack) -> Store:
    from gpustack_models.cli.node_store import access
    from gpustack_models.store.store import Store
    from gpustack_models.store.writer import Identity, Writer

    reader = stack.enter_context(Store.open(place))  # a store that is not there is not made
    if repair:
        return stack.enter_context(access.write(out, place, "gsm node-store verify"))
    if writer := Writer.attempt(place, Identity("gsm node-store verify")):
        return stack.enter_context(writer)
    out.warn(f"{reader.holder()} writes to the store; what is broken is told, and not taken out of sight")
    return reader
