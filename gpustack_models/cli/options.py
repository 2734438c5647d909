"""Owns the options that more than one command takes: their names, help and types, written once.

Refuses options of one command alone; those stand beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpustack_models.core.patterns import Patterns
from gpustack_models.errors import GsmError, Reason

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress; data, warnings and errors stay.")]

Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="PATTERN", help="Keep only files that match; may be repeated."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="PATTERN", help="Drop files that match, even allowed ones; may be repeated."),
]

Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="The hub to ask, in place of HF_ENDPOINT, MODELSCOPE_ENDPOINT or the public one.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="A file that holds the hub's token, in place of HF_TOKEN, MODELSCOPE_API_TOKEN or a stored login.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Give up on a hub after this long, retries included."),
]

Files = Annotated[
    list[str] | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="Every ModelArtifact in a YAML file, or in the files below a folder; - is stdin. Repeatable.",
    ),
]

Like = Annotated[
    str | None,
    typer.Option(
        "--like",
        metavar="REF|FILE",
        help="Take each file's algorithm from a reference, a manifest or a saved listing.",
    ),
]
Sha256 = Annotated[bool, typer.Option("--sha256", help="Every file by its SHA-256: ModelScope's rule.")]

Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, max=64, help="Hashing threads; one per processor by default."),
]


def patterns(allow: list[str] | None, ignore: list[str] | None) -> Patterns | None:
    """The two lists as one value, or None when neither was given. Raises GsmError(InvalidInput)."""
    return Patterns(tuple(allow or ()), tuple(ignore or ())) or None


def digest(text: str | None) -> str | None:
    """A manifest digest given as an option. Raises GsmError(InvalidInput)."""
    from gpustack_models.core.manifest import is_digest

    if text is not None and not is_digest(text):
        raise usage(f"{text!r} is not a manifest digest", "write sha256: and 64 lowercase hex digits")
    return text


def usage(message: str, hint: str = "") -> GsmError:
    """The error of options and arguments that do not go together."""
    return GsmError(Reason.INVALID_INPUT, message, hint=hint)
