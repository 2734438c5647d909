"""Owns `gsm node-store pull`.

Refuses to print a path of anything that is not published.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpustack_models.cli import lazy, options
from gpustack_models.cli.node_store import common

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpustack_models.cli.output import Output
    from gpustack_models.errors import GsmError
    from gpustack_models.workflows.pull import Pulled

app = lazy.single()


class Format(StrEnum):
    """The formats of `pull`."""

    PATH = "path"
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


@app.command(
    epilog=lazy.examples(
        "gsm node-store pull hf://Qwen/Qwen2.5-0.5B-Instruct",
        "gsm node-store pull Qwen/Qwen2.5-0.5B-Instruct --allow '*.safetensors' --allow '*.json' --limit-rate 200Mi",
        "gsm node-store pull sha256:669ed7b128b6ad1658d735326bd172a33497ecdb8bbd72dd0b23c98b58469448 --from http://gpu-1:8300",
        'vllm serve "$(gsm node-store pull -q hf://Qwen/Qwen2.5-0.5B-Instruct)"',
    )
)
def pull(
    references: Annotated[
        list[str], typer.Argument(metavar="REF", help="hf:// or ms:// references; a digest, with --from.")
    ],
    expect: Annotated[
        str | None,
        typer.Option("--expect", metavar="sha256:...", help="Fail unless the reference is this digest."),
    ] = None,
    allow: options.Allow = None,
    ignore: options.Ignore = None,
    peers: common.Peers = None,
    concurrency: common.Concurrency = 8,
    limit_rate: common.LimitRate = None,
    now: Annotated[bool, typer.Option("--now", help="Try at once what failed a moment ago and backs off.")] = False,
    high: common.High = common.HIGH,
    low: common.Low = common.LOW,
    root: common.Root = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="What is printed.")] = Format.PATH,
    endpoint: options.Endpoint = None,
    token_file: options.TokenFile = None,
    timeout: options.Timeout = None,
    quiet: options.Quiet = False,
) -> int:
    """Bring models here: resolve, reserve room, fetch what is not here yet, verify every byte, publish in one step.

    The path of each published tree is printed, in the order of the references. What is here already costs no transfer,
    by whatever name it came. An interrupted pull goes on where it stopped. While another process writes to the store,
    this one waits, and says for what.
    """
    from gpustack_models.cli.asking import Asking
    from gpustack_models.cli.node_store import pulling
    from gpustack_models.cli.output import Output
    from gpustack_models.cli.results import conclude
    from gpustack_models.store.sources import Limits

    if expect and len(references) > 1:
        raise options.usage("--expect is the digest of one reference", "pull the others by themselves")
    out = Output(quiet)
    job = pulling.Job(
        out=out,
        root=common.root_of(root),
        watermarks=common.watermarks(high, low),
        limits=Limits(concurrency, common.size(limit_rate, "--limit-rate")),
        peers=common.peers_of(peers),
        now=now,
    )
    wanted = pulling.resolve(
        job,
        references,
        options.patterns(allow, ignore),
        options.digest(expect),
        Asking(endpoint, token_file, timeout),
    )
    results = pulling.run(job, wanted)
    _show(out, output, references, results)
    return conclude(out, results)


def _show(out: Output, output: Format, references: Sequence[str], results: Sequence[Pulled | GsmError]) -> None:
    from gpustack_models.errors import GsmError

    done = [result for result in results if not isinstance(result, GsmError)]
    if output is Format.PATH:
        out.data("".join(f"{each.tree.path}\n" for each in done))
    elif output is Format.TABLE:
        rows = [
            (each.tree.digest, common.brief(each.fetched), each.source or "-", str(each.tree.path)) for each in done
        ]
        if rows:
            out.table(("DIGEST", "FETCHED", "FROM", "PATH"), rows)
    else:
        out.document(output, [_object(name, result) for name, result in zip(references, results, strict=True)])


def _object(name: str, result: Pulled | GsmError) -> dict[str, Any]:
    from gpustack_models.cli.results import error_object
    from gpustack_models.errors import GsmError

    if isinstance(result, GsmError):
        return {"reference": name, "error": error_object(result)}
    manifest = result.tree.manifest
    return common.without_nothing(
        {
            "reference": name,
            "pinned": result.wanted.pinned,
            "digest": manifest.digest,
            "path": str(result.tree.path),
            "fileCount": manifest.file_count,
            "sizeBytes": manifest.size,
            "fetchedBytes": result.fetched,
            "source": result.source,
        }
    )
