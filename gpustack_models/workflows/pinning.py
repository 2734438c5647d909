"""Owns writing resolutions back into the files they came from.

Refuses to touch a file in which nothing changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from gpustack_models.core.artifactfile import Pin, Place, pinned
from gpustack_models.errors import GsmError
from gpustack_models.workflows.files import replace_file, text_of


def pin_files(pins: Mapping[Place, Pin], *, leave: Collection[str] = ()) -> dict[str, int | GsmError]:
    """Pin the artifacts of each file, but those to `leave`. Per file: how many artifacts changed, or its error."""
    outcomes: dict[str, int | GsmError] = {}
    for file in dict.fromkeys(place.file for place in pins if place.file not in leave):
        here = {place: pin for place, pin in pins.items() if place.file == file}
        try:
            outcomes[file] = _pin(file, here)
        except GsmError as error:
            outcomes[file] = error
    return outcomes


def _pin(file: str, pins: Mapping[Place, Pin]) -> int:
    text = text_of(file, bytes)
    changed = [place for place, pin in pins.items() if pinned(text, {place: pin}) != text]
    if changed:
        replace_file(Path(file), pinned(text, pins).encode())
    return len(changed)
