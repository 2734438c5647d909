"""Owns `gsm hub`: the local hub as a command.

Refuses what a hub is; `gpustack_models.hub_server` has it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpustack_models.cli import lazy, options
from gpustack_models.cli.output import Output, printable
from gpustack_models.errors import GsmError, Reason, missing_extra

if TYPE_CHECKING:
    from gpustack_models.hub_server import Fault, LocalHub, Request

#: Both hubs' clients, one line each, as a shell takes them.
VARIABLES = ("HF_ENDPOINT", "MODELSCOPE_ENDPOINT")

app = lazy.single(
    help="A local hub: a folder of repositories over both hubs' interfaces.",
    epilog=lazy.examples("gsm hub serve ./models"),
)
app.callback()(lazy.nothing)


@app.command(
    short_help="Serve a folder over both hubs' interfaces, read-only.",
    epilog=lazy.examples(
        "gsm hub serve ./models --port 8100",
        "gsm hub serve ./models --host 0.0.0.0 --port 8100 --tokens tokens.yaml",
    ),
)
def serve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Holds a folder <owner>/<name>/ for each repository.")],
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="The address to listen on; loopback unless told.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="The port; 0 is a free one.")
    ] = 8100,
    cdn_port: Annotated[
        int,
        typer.Option(
            "--cdn-port",
            metavar="PORT",
            min=0,
            max=65535,
            help="Where LFS files are redirected to; 0 is a free port.",
        ),
    ] = 0,
    tokens: Annotated[
        Path | None, typer.Option("--tokens", metavar="FILE", help="The users' tokens, as docs/local-hub.md has them.")
    ] = None,
    redirect: Annotated[bool, typer.Option(help="Redirect LFS files to a second origin, as the hubs do.")] = True,
    faults: Annotated[
        Path | None, typer.Option("--faults", metavar="FILE", help="Faults to show on the wire, for tests (YAML).")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Serve a folder of repositories over both hubs' interfaces, read-only, until interrupted.

    Point the hubs' own clients at it with the two lines that it prints.
    """
    try:
        from gpustack_models.hub_server import ServeOptions, is_loopback
        from gpustack_models.hub_server import serve as run
    except ImportError as error:
        raise missing_extra("hub", "the local hub") from error
    out = Output(quiet)
    if not is_loopback(host):
        out.warn(f"the hub listens on {host}: whoever reaches this machine can read every public repository of it")

    def ready(hub: LocalHub) -> None:
        out.data("".join(f"export {variable}={hub.url}\n" for variable in VARIABLES))
        served = hub.repositories()
        out.note(f"serving {len(served)} of {folder}: {', '.join(served) or 'no repository yet'}; Ctrl-C ends it")

    run(
        ServeOptions(
            folder,
            host=host,
            port=port,
            cdn_port=cdn_port,
            tokens_file=tokens,
            redirect=redirect,
            faults=_faults(faults) if faults else (),
            warm=True,
        ),
        ready=ready,
        listener=lambda request: out.note(_line(request)),
    )


def _line(request: Request) -> str:
    # The query of a link to the second origin is a credential for what it links to; and a path may hold line feeds.
    return printable(str(replace(request, query={}) if request.origin == "cdn" else request))


def _faults(path: Path) -> tuple[Fault, ...]:
    from gpustack_models.core.yamledit import documents
    from gpustack_models.hub_server import fault_of
    from gpustack_models.workflows.files import text_of

    found = documents(text_of(str(path), bytes), str(path))
    listed: Any = found[0].value if len(found) == 1 else None
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise GsmError(Reason.INVALID_INPUT, f"{path} is not a list of faults", hint="write `- kind: reset` and so on")
    return tuple(fault_of(each) for each in listed)
