"""Owns the composition of the command line: the table of commands and the one boundary where errors become statuses.

Refuses everything a command does; its module does that, and is imported when the command runs.

To add a command: write `cli/<name>.py` with `app = lazy.single()` and one function under
`@app.command(epilog=lazy.examples("gsm <name> …"))` (several commands under one name: `app = lazy.group(ROWS, help=…)`,
with a table of rows of its own), then add one row to `COMMANDS`. A command prints through `output.Output`, takes shared
options from `options`, raises `GsmError`, returns nothing or an exit status, and imports what is heavy inside itself.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from gpustack_models.cli import lazy, output
from gpustack_models.errors import INTERRUPTED_EXIT_STATUS, MEANINGS, GsmError, Reason

#: A failure that no reason names: a defect of this program (sysexits' EX_SOFTWARE).
DEFECT_EXIT_STATUS = 70
#: What a shell reports of a process that was asked to end (128 + SIGTERM).
TERMINATED_EXIT_STATUS = 143
USAGE_EXIT_STATUS = 2

_CLI = "gpustack_models.cli"

COMMANDS: tuple[lazy.Row, ...] = (
    lazy.Row(
        "resolve",
        f"{_CLI}.resolve",
        "Which commit, files and digest a reference names now, and whether you may read it.",
        "gsm resolve hf://Qwen/Qwen2.5-0.5B-Instruct",
    ),
    lazy.Row(
        "digest",
        f"{_CLI}.digest",
        "The manifest digest of a folder on disk, of a reference, of a saved listing.",
        "gsm digest ./Qwen2.5-0.5B-Instruct",
    ),
    lazy.Row(
        "verify",
        f"{_CLI}.verify",
        "Every byte of a folder against what it should be; files of artifacts against their hubs.",
        "gsm verify ./Qwen2.5-0.5B-Instruct hf://Qwen/Qwen2.5-0.5B-Instruct",
    ),
    lazy.Row(
        "node-store",
        f"{_CLI}.node_store",
        "One verified copy of each model on this machine: pull, list, verify, collect.",
        "gsm node-store pull hf://Qwen/Qwen2.5-0.5B-Instruct",
    ),
    lazy.Row(
        "hub",
        f"{_CLI}.hub",
        "A local hub: a folder of repositories over both hubs' interfaces.",
        "gsm hub serve ./models",
    ),
    lazy.Row(
        "crd",
        f"{_CLI}.crd",
        "The CustomResourceDefinitions of the five resources.",
        "gsm crd | kubectl apply --server-side -f -",
    ),
    lazy.Row(
        "validate",
        f"{_CLI}.validate",
        "Judge Kubernetes objects by every rule of the cluster, without one.",
        "gsm validate -f deploy/",
    ),
    lazy.Row(
        "render",
        f"{_CLI}.render",
        "The Pods, Service and conditions that the operator would make, or why it makes none.",
        "gsm render -f chat.yaml --delivery Node",
    ),
)


def root() -> typer.Typer:
    """The whole command line; no command's module is imported yet."""
    app = lazy.group(
        COMMANDS,
        name="gsm",
        help="Model weights as a first-class, verifiable object.",
        add_completion=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    return app


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the process exit status. No traceback leaves it, unless GSM_DEBUG is set."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        result = root()(args=arguments, prog_name="gsm", standalone_mode=False)
    except GsmError as error:
        output.report(error.message, error.hint)
        return error.exit_status
    except TyperException as error:
        return _usage(error)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED_EXIT_STATUS
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except OSError as error:
        return _debug(_operating_system(error))
    except Exception as error:  # noqa: BLE001 - the one boundary of this process
        output.report(
            f"{type(error).__name__}: {error}",
            "this is a defect of gsm; please report it with the output of GSM_DEBUG=1 gsm …",
        )
        return _debug(DEFECT_EXIT_STATUS)
    return result if isinstance(result, int) else 0


def _version(wanted: bool) -> None:
    if wanted:
        from gpustack_models import __version__

        output.Output().data(f"gsm {__version__}")
        raise typer.Exit


def _root(
    _shown: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and exit.")
    ] = False,
) -> None: ...


def _usage(error: TyperException) -> int:
    context: Any = getattr(error, "ctx", None)
    # typer has pydantic judge a value, and leaves the head of that one's message in its own.
    message = error.format_message().replace("Value error, ", "", 1)
    if type(error).__name__ == "NoArgsIsHelpError":  # typer keeps this class to itself; its message is the help
        output.Output().note(message)
    else:
        output.report(message, f"{context.command_path} --help" if context else "")
    return USAGE_EXIT_STATUS


def _operating_system(error: OSError) -> int:
    reason = Reason.NOT_FOUND if isinstance(error, FileNotFoundError) else Reason.STORAGE_FAILED
    output.report(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
    return MEANINGS[reason].exit_status


def _debug(status: int) -> int:
    if os.environ.get("GSM_DEBUG"):
        import traceback

        traceback.print_exc()
    return status


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    # An exception, so that everything temporary is removed on the way out.
    sys.exit(TERMINATED_EXIT_STATUS)
