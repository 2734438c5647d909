"""Owns `gsm verify`: a folder against what it should be, byte for byte, and files of ModelArtifacts against their hubs.

Refuses to call anything verified that was not read; --quick says that it was not.
"""

from __future__ import annotations

from typing import Annotated

import typer

from gpustack_models.cli import lazy, options
from gpustack_models.cli.checks import CheckFormat
from gpustack_models.cli.output import Output

app = lazy.single()


@app.command(
    epilog=lazy.examples(
        "gsm verify ./qwen hf://Qwen/Qwen2.5-0.5B-Instruct@7ae557604adf67be50417f59c2c2f167def9a775",
        "gsm verify ./qwen --digest sha256:669ed7b128b6ad1658d735326bd172a33497ecdb8bbd72dd0b23c98b58469448",
        "gsm verify ./qwen --manifest qwen.manifest --quick",
        "gsm verify -f deploy/models.yaml -o github",
    )
)
def verify(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH [REF]", help="A folder, and the reference whose content it should be."),
    ] = None,
    digest: Annotated[
        str | None, typer.Option("--digest", metavar="sha256:...", help="The manifest digest that it should have.")
    ] = None,
    manifest: Annotated[
        str | None,
        typer.Option("--manifest", metavar="FILE", help="The manifest, or saved listing, that it should be."),
    ] = None,
    file: options.Files = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Compare names and sizes only; no byte is read, and it says so.")
    ] = False,
    like: options.Like = None,
    sha256: options.Sha256 = False,
    allow: options.Allow = None,
    ignore: options.Ignore = None,
    output: Annotated[CheckFormat, typer.Option("--output", "-o", help="What is printed.")] = CheckFormat.TABLE,
    threads: options.Threads = None,
    endpoint: options.Endpoint = None,
    token_file: options.TokenFile = None,
    timeout: options.Timeout = None,
    quiet: options.Quiet = False,
) -> int:
    """Compare a folder with a reference, a manifest or a digest: every byte; what is missing, extra or wrong is listed.

    With -f, the check for CI: every ModelArtifact in those YAML files that has an expectedDigest must still resolve to
    it. Patterns hold for both sides: a file that they drop is not looked at.
    """
    from gpustack_models.cli.asking import Asking
    from gpustack_models.cli.verify_artifacts import verify_artifacts
    from gpustack_models.cli.verify_folder import Wanted, verify_path

    out, ask = Output(quiet), Asking(endpoint, token_file, timeout)
    given = arguments or []
    if file:
        if any((digest, manifest, quick, like, sha256, allow, ignore)):
            raise options.usage("-f checks ModelArtifacts; the options of a folder do not go with it")
        return verify_artifacts(out, ask, [*file, *given], output)
    if not given:
        raise options.usage("nothing to verify was named", "gsm verify --help")
    if len(given) - 1 + bool(digest) + bool(manifest) != 1:
        raise options.usage("a folder is compared with one thing", "give a reference, or --digest, or --manifest")
    if "://" in given[0] and not given[0].lower().startswith("file:"):
        raise options.usage(f"{given[0]} is no folder", "the folder comes first, then what it should be")
    if quick and digest:
        raise options.usage("a digest says nothing of sizes", "give a reference or --manifest with --quick")
    if (like or sha256) and not digest:
        raise options.usage("--like and --sha256 go with --digest", "a reference and a manifest tell the algorithms")
    wanted = Wanted(given[1] if len(given) > 1 else None, options.digest(digest), manifest, like=like, sha256=sha256)
    patterns = options.patterns(allow, ignore)
    return verify_path(out, ask, given[0], wanted, patterns, output, quick=quick, threads=threads)
