"""Owns what the commands of `gsm node-store` share: where the store is, its options, and how its values are shown.

Refuses to open a store; `access` does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpustack_models.cli.home import expanded, home
from gpustack_models.cli.options import usage

if TYPE_CHECKING:
    from gpustack_models.store.capacity import Watermarks


class Format(StrEnum):
    """The formats of a command that prints values."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        metavar="DIR",
        envvar="GSM_STORE",
        help="Where the store is; $XDG_CACHE_HOME/gpustack-models unless told.",
    ),
]
Output = Annotated[Format, typer.Option("--output", "-o", help="What is printed.")]
Digest = Annotated[str, typer.Argument(metavar="DIGEST", help="A digest, or as much of it as names it alone.")]
Peers = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="URL", help="Another store's peer server, asked before the hub; may be repeated."),
]
High = Annotated[
    int,
    typer.Option(
        "--high",
        metavar="PERCENT",
        min=1,
        max=100,
        envvar="GSM_STORE_HIGH",
        help="Fill the filesystem no further than this.",
    ),
]
Low = Annotated[
    int,
    typer.Option(
        "--low", metavar="PERCENT", min=0, max=99, envvar="GSM_STORE_LOW", help="Where a collection stops removing."
    ),
]
Concurrency = Annotated[
    int, typer.Option("--concurrency", metavar="N", min=1, max=128, help="Requests for bytes at once, at most.")
]
LimitRate = Annotated[
    str | None, typer.Option("--limit-rate", metavar="SIZE", help="Bytes per second, at most: 200Mi, 50MB.")
]

#: A person's disk is used for more than models: a node's 80 and 70 would refuse most of them (docs/node-store.md).
HIGH, LOW = 95, 90

_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kKMGT]?)(?P<binary>i?)[bB]?(?:/s)?")
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def root_of(root: Path | None, environment: Mapping[str, str] = os.environ) -> Path:
    """The store's folder: as given, else in the user's cache."""
    if root is not None:
        return expanded(root)
    cache = environment.get("XDG_CACHE_HOME")
    return (expanded(Path(cache)) if cache else home() / ".cache") / "gpustack-models"


def peers_of(urls: Sequence[str] | None) -> tuple[str, ...]:
    """The addresses of --from. Raises GsmError(InvalidInput) for what no peer can be asked at."""
    from gpustack_models.core.location import is_plain, without_query

    for url in urls or ():
        if not is_plain(url):
            raise usage(f"--from {without_query(url)!r:.300} is not the address of a peer", "write http(s)://host:port")
    return tuple(urls or ())


def watermarks(high: int, low: int) -> Watermarks:
    """The two options as one value; a low one that was not given follows a lowered high one."""
    from gpustack_models.store.capacity import Watermarks

    return Watermarks(high, min(low, max(0, high - (HIGH - LOW))) if low == LOW else low)


def size(text: str | None, option: str) -> int:
    """Bytes of `200Mi`, `50MB`, `1.5G`, `1000`; 0 for None. Raises GsmError(InvalidInput)."""
    if text is None:
        return 0
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise usage(f"{option} {text!r} is no size", "write 200Mi (mebibytes) or 200M (megabytes)")
    return int(float(match["number"]) * (1024 if match["binary"] else 1000) ** _POWER[match["unit"].upper()])


def stamp(seconds: float | None) -> str | None:
    """A time since the epoch as machines write it (RFC 3339, UTC)."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def local(seconds: float) -> str:
    """A time since the epoch on this machine's clock, for people."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def brief(count: float) -> str:
    """Bytes as a person reads them in passing."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def lasting(seconds: float) -> str:
    """A span of time as a person reads it in passing."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def without_nothing(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object without the fields that say nothing."""
    return {name: each for name, each in value.items() if each is not None and each != ""}
