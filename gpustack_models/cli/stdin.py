"""Owns standard input: read once, bounded.

Refuses more than a file may hold.
"""

from __future__ import annotations

import sys
from functools import cache

from gpustack_models.errors import GsmError, Reason
from gpustack_models.workflows.files import MAX_FILE


@cache
def once() -> bytes:
    """Everything on standard input; a second reader gets the same bytes. Raises GsmError(InvalidInput)."""
    data = read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise GsmError(Reason.INVALID_INPUT, f"standard input is larger than {MAX_FILE >> 20} MiB")
    return data


def read(limit: int) -> bytes:
    """Up to `limit` bytes. Raises GsmError(InvalidInput) where the process was started with standard input closed."""
    if sys.stdin is None:
        raise GsmError(Reason.INVALID_INPUT, "standard input is closed", hint="pipe the text in, or name a file")
    return sys.stdin.buffer.read(limit)
