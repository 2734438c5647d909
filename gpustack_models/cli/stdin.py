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
    data = sys.stdin.buffer.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise GsmError(Reason.INVALID_INPUT, f"standard input is larger than {MAX_FILE >> 20} MiB")
    return data
