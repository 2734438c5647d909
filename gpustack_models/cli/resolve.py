"""Owns `gsm resolve`: what references and files of ModelArtifacts name now, and writing that back into the files.

Refuses to guess: what cannot be resolved is an error of its own, beside the others' results.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpustack_models.cli import lazy, options, stdin
from gpustack_models.cli.output import Output
from gpustack_models.workflows.files import STDIN

app = lazy.single()


class Format(StrEnum):
    """The formats of `gsm resolve`."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    MANIFEST = "manifest"
    ARTIFACT = "artifact"


@app.command(
    epilog=lazy.examples(
        "gsm resolve hf://Qwen/Qwen2.5-0.5B-Instruct@main ms://qwen/Qwen2.5-0.5B-Instruct",
        "gsm resolve Qwen/Qwen2.5-0.5B-Instruct --allow '*.safetensors' --allow '*.json' -o artifact",
        "gsm resolve -f models.yaml --write",
        "kubectl get mart -A -o yaml | gsm resolve - -o json",
    )
)
def resolve(
    references: Annotated[
        list[str] | None,
        typer.Argument(metavar="REF", help="hf://, ms://, oci:// or pvc:// references; - is YAML on stdin."),
    ] = None,
    file: options.Files = None,
    allow: options.Allow = None,
    ignore: options.Ignore = None,
    expect: Annotated[
        str | None,
        typer.Option("--expect", metavar="sha256:...", help="Fail unless the reference resolves to this digest."),
    ] = None,
    files: Annotated[bool, typer.Option("--files", help="List the files too.")] = False,
    output: Annotated[Format, typer.Option("--output", "-o", help="What is printed.")] = Format.TABLE,
    write: Annotated[
        bool, typer.Option("--write", help="Write commits and expected digests back into the given files.")
    ] = False,
    endpoint: options.Endpoint = None,
    token_file: options.TokenFile = None,
    timeout: options.Timeout = None,
    quiet: options.Quiet = False,
) -> int:
    """Say which commit a reference is now, which files it has, their digest, and whether you may read them.

    With -f, every ModelArtifact in those YAML files is resolved by its own source, patterns and expectedDigest. An
    image by tag is answered with the reference by digest; a claim's content is never read.
    """
    from gpustack_models.cli import asking
    from gpustack_models.cli.resolve_show import show
    from gpustack_models.workflows.questions import of_file, of_reference

    out = Output(quiet)
    names, sources = _sources(references or [], file)
    _check(names, sources, write=write, expect=expect, own=bool(allow or ignore or expect))
    patterns, expected = options.patterns(allow, ignore), options.digest(expect)
    items = [
        *(of_reference(name, patterns, expected) for name in names),
        *(item for source in sources for item in of_file(source, stdin.once)),
    ]
    found = asking.look_up(out, items, asking.Asking(endpoint, token_file, timeout))
    return show(out, items, found, output.value, with_files=files, write=write)


def _check(names: Sequence[str], sources: Sequence[str], *, write: bool, expect: str | None, own: bool) -> None:
    if not names and not sources:
        raise options.usage("nothing to resolve was named", "gsm resolve --help")
    if write and (not sources or STDIN in sources):
        raise options.usage("--write has no file to write to", "name one with -f")
    if sources and own:
        raise options.usage(
            "--allow, --ignore and --expect are for references", "a ModelArtifact of a file has its own; edit it there"
        )
    if expect and len(names) > 1:
        raise options.usage("--expect is the digest of one reference", "resolve the others by themselves")


def _sources(references: Sequence[str], file: list[str] | None) -> tuple[list[str], list[str]]:
    """References and files. Behind -f a shell's `*.yaml` gives plain arguments; those that exist are files too."""
    from gpustack_models.cli.inputs import expanded

    sources = list(file or [])
    names: list[str] = []
    for text in references:
        is_file = text == STDIN or (bool(file) and Path(text).is_file())
        (sources if is_file else names).append(text)
    return names, expanded(sources)
