"""Owns `gsm node-store path`.

Refuses a digest that is not published.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from gpustack_models.cli import lazy
from gpustack_models.cli.node_store import common

app = lazy.single()


class Format(StrEnum):
    """The formats of `path`."""

    PATH = "path"
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


@app.command(epilog=lazy.examples("gsm node-store path 669ed7b1", 'vllm serve "$(gsm node-store path 669ed7b1)"'))
def path(
    digest: common.Digest,
    root: common.Root = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="What is printed.")] = Format.PATH,
) -> None:
    """Print the folder of a published tree; whatever mounts or reads the model reads it there."""
    from gpustack_models.cli.output import Output
    from gpustack_models.errors import GsmError, Reason
    from gpustack_models.store.store import Store

    out = Output()
    with Store.open(common.root_of(root)) as store:
        full = store.digest(digest, published=True)
        tree = store.lookup(full)
    if tree is None:
        raise GsmError(
            Reason.INTEGRITY_MISMATCH, f"{full} is there and broken", hint=f"gsm node-store verify {full} --repair"
        )
    if output is Format.PATH:
        out.data(str(tree.path))
    elif output is Format.TABLE:
        out.table(("DIGEST", "PATH"), [(tree.digest, str(tree.path))])
    else:
        out.document(output, {"digest": tree.digest, "path": str(tree.path)})
