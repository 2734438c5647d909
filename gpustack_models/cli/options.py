"""Owns the options that more than one command takes: their names, help and types, written once.

Refuses options of one command alone; those stand beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    float,
    typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long a hub may stay silent, per request."),
]

Files = Annotated[
    list[str] | None,
    typer.Option("--file", "-f", metavar="FILE", help="Every ModelArtifact in a YAML file; - is stdin. Repeatable."),
]

Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, max=64, help="Hashing threads; one per processor by default."),
]

DEFAULT_TIMEOUT = 30.0
