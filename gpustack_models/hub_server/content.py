"""Owns how a file's bytes are answered: whole, a range, not modified, or not satisfiable (RFC 9110).

Refuses several ranges in one request: such a request gets the whole file, as the standard allows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote

from gpustack_models.hub_server.repository import File
from gpustack_models.hub_server.wire import Answer, Ask, FilePart

_RANGE = re.compile(r"bytes=(?:(\d{1,20})-(\d{0,20})|-(\d{1,20}))")


def content(ask: Ask, file: File, headers: Mapping[str, str] | None = None) -> Answer:
    """The bytes of a file, by the request's `Range`, `If-Range` and `If-None-Match`."""
    etag = f'"{file.etag}"'
    known = {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": disposition(file.path),
        "Accept-Ranges": "bytes",
        "ETag": etag,
        **(headers or {}),
    }
    if etag in (tag.strip() for tag in ask.headers.get("if-none-match", "").split(",")):
        return Answer(304, {"ETag": etag})
    whole = Answer(200, known, FilePart(file.key, 0, file.size))
    asked = ask.headers.get("range")
    if asked is None or ask.headers.get("if-range", etag) != etag:
        return whole
    span = span_of(asked, file.size)
    if span is None:
        return whole
    if not span:
        return Answer(416, {"Content-Range": f"bytes */{file.size}", "ETag": etag})
    return replace(
        whole,
        status=206,
        headers={**known, "Content-Range": f"bytes {span.start}-{span.stop - 1}/{file.size}"},
        body=FilePart(file.key, span.start, len(span)),
    )


def span_of(header: str, size: int) -> range | None:
    """The bytes that a `Range` header asks of a file of `size` bytes: empty when there are none such, None when the
    header is to be ignored (several ranges, another unit, malformed).
    """
    match = _RANGE.fullmatch(header.strip().replace(" ", ""))
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        return range(max(size - int(suffix), 0), size)
    start, stop = int(first), min(int(last) + 1, size) if last else size
    if last and int(last) < int(first):
        return None
    return range(start, stop) if start < size else range(0)


def disposition(path: str) -> str:
    """A `Content-Disposition` that keeps any file name."""
    name = path.rpartition("/")[2]
    plain = name.encode("ascii", "replace").decode().replace('"', "_").replace("\\", "_")
    return f"inline; filename*=UTF-8''{quote(name, safe='')}; filename=\"{plain}\";"
