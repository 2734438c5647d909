"""Owns where a person's home is, and `~` in the paths that they write.

Refuses a home that nobody has: a container's user may be a number that the system knows nothing of.
"""

from __future__ import annotations

from pathlib import Path

from gpustack_models.cli.options import usage


def home() -> Path:
    """The home of whoever runs this; the root, as container runtimes set it, where HOME and the system name none."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def expanded(path: Path) -> Path:
    """A path with its leading `~` or `~user` replaced. Raises GsmError(InvalidInput) for a user who has no home."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise usage(f"{path} begins in a home that is not known here", "write the whole path, or set HOME") from None
