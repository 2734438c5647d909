"""Owns `gsm crd`: the CustomResourceDefinitions on stdout.

Refuses to talk to a cluster; `kubectl apply -f -` does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from gpustack_models.cli import lazy
from gpustack_models.cli.output import Output
from gpustack_models.errors import GsmError, Reason

app = lazy.single()


class Format(StrEnum):
    """How they are printed."""

    YAML = "yaml"
    JSON = "json"


@app.command(
    epilog=lazy.examples(
        "gsm crd | kubectl apply --server-side -f -",
        "gsm crd ModelArtifact -o json",
    )
)
def main(
    kinds: Annotated[list[str] | None, typer.Argument(metavar="KIND", help="Only these kinds.")] = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="How they are printed.")] = Format.YAML,
) -> None:
    """Print the CustomResourceDefinitions of the five resources."""
    from gpustack_models.core import crd
    from gpustack_models.core.kinds import BY_KIND
    from gpustack_models.core.structure import nearest

    by_name = {
        name.lower(): resource
        for resource in BY_KIND.values()
        for name in (resource.KIND.kind, resource.KIND.plural, resource.KIND.short_name)
    }
    wanted = kinds or list(BY_KIND)
    for kind in wanted:
        if kind.lower() not in by_name:
            hint = nearest(kind, list(BY_KIND)) or f"one of {', '.join(BY_KIND)}"
            raise GsmError(Reason.INVALID_INPUT, f"{kind!r} is not one of the resources", hint=hint)
    made = [crd.of(resource) for resource in dict.fromkeys(by_name[kind.lower()] for kind in wanted)]
    out = Output()
    if output is Format.YAML:
        out.yaml(*made)
    else:
        out.json(made[0] if len(made) == 1 else {"apiVersion": "v1", "kind": "List", "items": made})
