"""Owns `gsm node-store export`.

Refuses a folder that holds anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpustack_models.cli import lazy, options
from gpustack_models.cli.node_store import common

app = lazy.single()


@app.command(epilog=lazy.examples("gsm node-store export 669ed7b1 ./qwen"))
def export(
    digest: common.Digest,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is not there, or empty.")],
    root: common.Root = None,
    output: common.Output = common.Format.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """Copy a published tree out, every byte hashed on its way. The folder is there when it is whole, or not at all."""
    from gpustack_models.cli.output import Output, size_text
    from gpustack_models.errors import GsmError, Reason
    from gpustack_models.store.exporting import export as copy
    from gpustack_models.store.store import Store

    out = Output(quiet)
    with Store.open(common.root_of(root)) as store:
        full = store.digest(digest, published=True)
        tree = store.lookup(full)
        if tree is None:
            raise GsmError(Reason.NOT_FOUND, f"{full} is not published", hint="gsm node-store pull fetches it")
        with out.progress("exporting", tree.manifest.size) as advance:
            copy(store, tree, folder, progress=advance)
    manifest = tree.manifest
    if output is common.Format.TABLE:
        out.table(
            ("DIGEST", "FILES", "SIZE", "PATH"),
            [(full, str(manifest.file_count), size_text(manifest.size), str(folder))],
        )
    else:
        out.document(
            output,
            {"digest": full, "path": str(folder), "fileCount": manifest.file_count, "sizeBytes": manifest.size},
        )
