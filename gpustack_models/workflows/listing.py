"""Owns listings that a person saved: a canonical manifest, or a hub's answer, as bytes.

Refuses to ask anyone; what an answer means is its hub's adapter's.
"""

from __future__ import annotations

from collections.abc import Callable

from gpustack_models.core.manifest import HEADER, Entry, Manifest
from gpustack_models.core.patterns import Patterns
from gpustack_models.errors import GsmError, Reason

_SAVE = "save one: gsm resolve REF -o manifest > FILE"


def manifest_of(data: bytes, name: str, patterns: Patterns | None = None) -> Manifest:
    """The manifest of saved bytes: `gpustack-manifest v1`, a Hugging Face tree, or a ModelScope file listing.

    Raises GsmError(InvalidInput) for anything else, and what makes a manifest invalid.
    """
    if data.startswith(HEADER):
        parsed = Manifest.parse(data, name=name)
        return Manifest.of(parsed.entries, patterns, name=name) if patterns else parsed
    reader = _READERS.get(data.lstrip()[:1])
    if reader is None:
        raise GsmError(Reason.INVALID_INPUT, f"{name} is neither a manifest nor a hub's listing", hint=_SAVE)
    return Manifest.of(reader(data, name), patterns, name=name)


def _hugging_face(data: bytes, name: str) -> list[Entry]:
    from gpustack_models.hubs import huggingface

    try:
        return huggingface.entries_of(data, name)[0]
    except GsmError as error:
        if error.reason is not Reason.SOURCE_UNAVAILABLE:
            raise
        raise GsmError(Reason.INVALID_INPUT, f"{name} is not a saved tree of Hugging Face", hint=_SAVE) from error


def _model_scope(data: bytes, name: str) -> list[Entry]:
    import msgspec

    from gpustack_models.hubs.modelscope_walk import TRUNCATED_AT, RepoFile, files_of

    class Files(msgspec.Struct, rename="pascal"):
        files: list[RepoFile]

    class Envelope(msgspec.Struct, rename="pascal"):
        data: Files

    try:
        listed = msgspec.json.decode(data, type=Envelope).data.files
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise GsmError(Reason.INVALID_INPUT, f"{name} is not a saved listing of ModelScope", hint=_SAVE) from error
    if len(listed) >= TRUNCATED_AT:
        raise GsmError(
            Reason.INVALID_INPUT, f"{name} has {len(listed)} entries: ModelScope cut it off there", hint=_SAVE
        )
    return files_of(listed, name)


_READERS: dict[bytes, Callable[[bytes, str], list[Entry]]] = {b"[": _hugging_face, b"{": _model_scope}
