"""Owns `gsm digest`: the manifest digest of a folder on disk, of a reference, of a saved listing.

Refuses to guess the algorithm of a file; it shows the choices.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from gpustack_models.cli import lazy, options
from gpustack_models.cli.output import Output

app = lazy.single()


class Format(StrEnum):
    """The formats of `gsm digest`."""

    DIGEST = "digest"
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    MANIFEST = "manifest"


@app.command(
    epilog=lazy.examples(
        "gsm digest ./Qwen2.5-0.5B-Instruct",
        "gsm digest ./qwen --like hf://Qwen/Qwen2.5-0.5B-Instruct",
        "gsm digest hf://Qwen/Qwen2.5-0.5B-Instruct -o manifest > qwen.manifest",
        "gsm digest --hub-tree tree.json --allow '*.safetensors' --ignore original/",
    )
)
def digest(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH|REF", help="Folders, or references; an existing folder wins over a reference."),
    ] = None,
    hub_tree: Annotated[
        list[str] | None,
        typer.Option("--hub-tree", metavar="FILE", help="A saved listing of a hub; - is stdin. Repeatable."),
    ] = None,
    like: options.Like = None,
    sha256: options.Sha256 = False,
    allow: options.Allow = None,
    ignore: options.Ignore = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="What is printed.")] = Format.DIGEST,
    threads: options.Threads = None,
    endpoint: options.Endpoint = None,
    token_file: options.TokenFile = None,
    timeout: options.Timeout = None,
    quiet: options.Quiet = False,
) -> int:
    """Print the manifest digest of folders, references or saved listings, one a line, in the order given.

    The digest names a set of files, each by its SHA-256 or by its git blob id, as its hub names it. Which of the two it
    is for a file on disk is never guessed: the Hugging Face cache, `hf download`, `modelscope download` and
    .gitattributes tell; where nothing does, say --like or --sha256.
    """
    from gpustack_models.cli import digest_run, folders
    from gpustack_models.cli.asking import Asking

    named = [*(targets or []), *(hub_tree or [])]
    if not named:
        raise options.usage("nothing to digest was named", "gsm digest --help")
    if output is Format.MANIFEST and len(named) != 1:
        raise options.usage("-o manifest prints the manifest of one target", "name one")
    out, ask, patterns = Output(quiet), Asking(endpoint, token_file, timeout), options.patterns(allow, ignore)
    choose = folders.chooser(out, ask, like, sha256)
    results = [
        *digest_run.targets(out, ask, targets or [], digest_run.How(patterns, choose, threads)),
        *(digest_run.listing(file, patterns) for file in hub_tree or []),
    ]
    return digest_run.show(out, list(zip(named, results, strict=True)), output.value)
