"""Owns `gsm node-store import`.

Refuses to publish a folder that is not, byte for byte, what the reference or the manifest names.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpustack_models.cli import lazy, options
from gpustack_models.cli.node_store import common

if TYPE_CHECKING:
    from gpustack_models.workflows.adopt import Adopted

app = lazy.single()


@app.command(
    name="import",
    epilog=lazy.examples(
        "gsm node-store import ~/.cache/huggingface/hub hf://Qwen/Qwen2.5-0.5B-Instruct",
        "gsm node-store import ~/.cache/modelscope ms://qwen/Qwen2.5-0.5B-Instruct",
        "gsm node-store import /data/qwen --manifest qwen.manifest --copy",
    ),
)
def import_(
    folder: Annotated[
        Path, typer.Argument(metavar="PATH", help="A folder of model files, or a cache of a hub's own client.")
    ],
    reference: Annotated[str | None, typer.Argument(metavar="REF", help="What the folder should hold.")] = None,
    manifest: Annotated[
        str | None, typer.Option("--manifest", metavar="FILE", help="The manifest, or saved listing, in place of REF.")
    ] = None,
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="sha256:...", help="Fail unless the manifest is this digest.")
    ] = None,
    allow: options.Allow = None,
    ignore: options.Ignore = None,
    copy: Annotated[
        bool, typer.Option("--copy", help="Never share a file with the folder; where there is no reflink, copy.")
    ] = False,
    threads: options.Threads = None,
    high: common.High = common.HIGH,
    low: common.Low = common.LOW,
    root: common.Root = None,
    output: common.Output = common.Format.TABLE,
    endpoint: options.Endpoint = None,
    token_file: options.TokenFile = None,
    timeout: options.Timeout = None,
    quiet: options.Quiet = False,
) -> None:
    """Publish a tree from files that are on this disk already, after hashing every byte that is taken in.

    A file whose content the store holds already ("held") is neither needed nor read; `gsm verify` judges a folder.
    Files come in as reflinks where the filesystem can, else as hard links: no byte is written twice. A hard link makes
    the file read-only where it is, since both names are one file; another user's file, a file that is open for
    writing, and any file with --copy, is copied.
    """
    from gpustack_models.cli import folders
    from gpustack_models.cli.asking import Asking, look_up
    from gpustack_models.cli.home import expanded
    from gpustack_models.cli.node_store import access
    from gpustack_models.cli.output import Output
    from gpustack_models.core.manifest import check_expected
    from gpustack_models.errors import GsmError
    from gpustack_models.store.adopting import How
    from gpustack_models.store.importing import Options
    from gpustack_models.workflows.adopt import adopt, folder_for
    from gpustack_models.workflows.questions import of_reference
    from gpustack_models.workflows.resolve import Resolution

    if bool(reference) is bool(manifest):
        raise options.usage("a folder is imported as one thing", "give a reference, or --manifest FILE")
    out, ask = Output(quiet), Asking(endpoint, token_file, timeout)
    patterns, expected = options.patterns(allow, ignore), options.digest(expect)
    ref, name = None, ""
    if reference:
        (found,) = look_up(out, [of_reference(reference, patterns, expected)], ask)
        if isinstance(found, GsmError):
            raise found
        wanted = folders.manifest_in(found)
        if isinstance(found.result, Resolution):
            ref, name = found.result.pinned, str(found.result.pinned)
    else:
        wanted = folders.manifest_like(out, ask, str(manifest), patterns, file=True)
        check_expected(str(manifest), wanted, expected)
    place = folder_for(expanded(folder), ref)
    with (
        access.write(out, common.root_of(root), "gsm node-store import") as writer,
        out.progress("hashing", wanted.size) as advance,
    ):
        done = adopt(writer, place, wanted, Options(copy, threads, advance), common.watermarks(high, low), name)
    if linked := done.imported.files[How.LINK]:
        out.note(f"{linked} files are now shared with {place} and read-only there; --copy keeps them apart")
    if output is common.Format.TABLE:
        ways = ", ".join(f"{count} {how}" for how, count in sorted(done.imported.files.items()))
        out.table(("DIGEST", "FILES", "PATH"), [(wanted.digest, ways, str(done.tree.path))])
    else:
        out.document(output, _object(done))


def _object(done: Adopted) -> dict[str, Any]:
    imported, manifest = done.imported, done.tree.manifest
    return {
        "digest": manifest.digest,
        "path": str(done.tree.path),
        "fileCount": manifest.file_count,
        "sizeBytes": manifest.size,
        "files": {str(how): count for how, count in sorted(imported.files.items())},
        "bytes": {str(how): count for how, count in sorted(imported.bytes.items())},
    }
