"""Owns git's reference advertisement, as smart HTTP sends it: pkt-lines in, names and objects out.

Refuses anything but that: a line of a wrong length, a name twice, a word after the end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_LENGTH = re.compile(rb"[0-9a-fA-F]{4}")
_REF = re.compile(rb"([0-9a-f]{40}) ([^\x00-\x20\x7f]+)")
_SHALLOW = re.compile(rb"shallow [0-9a-f]{40}")
_SERVICE = b"# service=git-upload-pack"
_NO_REFS = b"capabilities^{}"
_MAX_LINE = 65_520
_PEELED = "^{}"


def refs_of(advertisement: bytes) -> dict[str, str]:
    """Every reference by its full name (a peeled tag's ends in `^{}`) with its object, 40 lowercase hex.

    Raises ValueError saying what is wrong and at which byte (git, "HTTP transfer protocols", "gitprotocol-pack").
    """
    lines = _lines(advertisement)
    if len(lines) < 2 or lines[0] != _SERVICE or lines[1] is not None:
        raise ValueError("it does not begin with the service's name")
    if lines[-1] is not None or None in lines[2:-1] or len(lines) < 3:
        raise ValueError("it does not end with one flush")
    refs: dict[str, str] = {}
    for number, line in enumerate(line for line in lines[2:-1] if line is not None and line != b"version 1"):
        text, nul, _capabilities = line.partition(b"\0")
        if nul and number:
            raise ValueError("capabilities come after the first reference")
        if _SHALLOW.fullmatch(text) and number:
            continue
        match = _REF.fullmatch(text)
        if match is None:
            raise ValueError(f"{text[:80]!r} is not an object and a name")
        name = match[2].decode("utf-8", "surrogateescape")
        if match[2] == _NO_REFS:
            continue
        if name in refs:
            raise ValueError(f"{name!r:.100} is named twice")
        refs[name] = match[1].decode()
    return refs


def commit_named(refs: Mapping[str, str], revision: str) -> str | None:
    """The commit of a tag (peeled first) or a branch; never HEAD's, whatever was asked (hubs.md, "The cross-check")."""
    tag = f"refs/tags/{revision}"
    return refs.get(tag + _PEELED) or refs.get(tag) or refs.get(f"refs/heads/{revision}")


def _lines(data: bytes) -> list[bytes | None]:
    """The lines without their line feeds; None is a flush."""
    lines: list[bytes | None] = []
    position = 0
    while position < len(data):
        header = data[position : position + 4]
        if not _LENGTH.fullmatch(header):
            raise ValueError(f"at byte {position}, {header!r} is not a length")
        length = int(header, 16)
        if length == 0:
            lines.append(None)
            position += 4
            continue
        if not 4 < length <= _MAX_LINE:
            raise ValueError(f"at byte {position}, {length} is not the length of a line")
        if position + length > len(data):
            raise ValueError(f"it is cut off in the line at byte {position}")
        lines.append(data[position + 4 : position + length].removesuffix(b"\n"))
        position += length
    return lines
