"""Owns the Link header: the address of the next page of a listing.

Refuses to follow it; where a next page may be is decided with its token in mind.
"""

from __future__ import annotations

import re

_LINK = re.compile(r'\s*<([^<>]*)>((?:\s*;\s*[^\s;,="]+\s*(?:=\s*(?:"[^"]*"|[^\s;,"]*))?)*)\s*(?:,|\Z)')
_RELATION = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]*))', re.IGNORECASE)


def next_link(header: str) -> str | None:
    """The target of `rel="next"` (RFC 8288), or None. A header that cannot be read raises ValueError."""
    position = 0
    while position < len(header):
        match = _LINK.match(header, position)
        if match is None:
            raise ValueError(f"{header[position:][:80]!r} is not a link")
        position = match.end()
        relation = _RELATION.search(match[2])
        if relation and "next" in (relation[1] or relation[2] or "").lower().split():
            return match[1]
    return None
