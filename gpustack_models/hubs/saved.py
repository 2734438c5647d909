"""Owns reading hubs' listings that a person saved: the answers' bodies, outside of any request.

Refuses a listing that a hub cut off.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gpustack_models.core.manifest import Entry
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs import huggingface
from gpustack_models.hubs.modelscope_walk import TRUNCATED_AT, RepoFile, files_of

HINT = "save one: gsm resolve REF -o manifest > FILE"


class _Files(msgspec.Struct, rename="pascal"):
    files: list[RepoFile]


class _Envelope(msgspec.Struct, rename="pascal"):
    data: _Files


_ENVELOPE = msgspec.json.Decoder(_Envelope)


def entries_of(data: bytes, name: str) -> list[Entry]:
    """The files of a saved listing: a Hugging Face tree (a list), or a ModelScope envelope (an object).

    Raises GsmError: InvalidInput (neither, or cut off), and what makes a listing refused (a mask, an unknown type).
    """
    reader = _READERS.get(data.lstrip()[:1])
    if reader is None:
        raise GsmError(Reason.INVALID_INPUT, f"{name} is neither a manifest nor a hub's listing", hint=HINT)
    return reader(data, name)


def _hugging_face(data: bytes, name: str) -> list[Entry]:
    try:
        return huggingface.entries_of(data, name)[0]
    except GsmError as error:
        if error.reason is not Reason.SOURCE_UNAVAILABLE:
            raise
        raise GsmError(Reason.INVALID_INPUT, f"{name} is not a saved tree of Hugging Face", hint=HINT) from error


def _model_scope(data: bytes, name: str) -> list[Entry]:
    try:
        listed = _ENVELOPE.decode(data).data.files
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GsmError(Reason.INVALID_INPUT, f"{name} is not a saved listing of ModelScope", hint=HINT) from error
    if len(listed) >= TRUNCATED_AT:
        message = f"{name} has {len(listed)} entries: ModelScope cut it off there"
        raise GsmError(Reason.INVALID_INPUT, message, hint=HINT)
    return files_of(listed, name)


_READERS: dict[bytes, Callable[[bytes, str], list[Entry]]] = {b"[": _hugging_face, b"{": _model_scope}
