"""Owns the faults that are other answers: one pure function a row, from what the hub says to what the client gets.

Refuses the wire, and every choice of when.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from gpustack_models.hub_server.hf_documents import MASK
from gpustack_models.hub_server.wire import Answer, Ask


class Row(Protocol):
    """What an edit reads of its fault."""

    @property
    def status(self) -> int: ...  # noqa: D102
    @property
    def retry_after(self) -> str: ...  # noqa: D102
    @property
    def at(self) -> int: ...  # noqa: D102
    @property
    def value(self) -> str: ...  # noqa: D102
    @property
    def edit(self) -> Callable[[Any], Any] | None: ...  # noqa: D102


Edit = Callable[[Answer, Row, Ask], Answer]


def _status(_answer: Answer, fault: Row, _ask: Ask) -> Answer:
    headers = {"Content-Type": "text/plain", **({"Retry-After": fault.retry_after} if fault.retry_after else {})}
    return Answer(fault.status, headers, (fault.value or f"fault: {fault.status}").encode())


def _not_json(answer: Answer, _fault: Row, _ask: Ask) -> Answer:
    return Answer(
        answer.status, {"Content-Type": "text/html"}, b"<html><body>Please log in to this network</body></html>"
    )


def _redirect(_answer: Answer, fault: Row, _ask: Ask) -> Answer:
    return Answer(302, {"Location": fault.value})


def _padded(answer: Answer, fault: Row, _ask: Ask) -> Answer:
    return replace(answer, body=answer.body + b" " * fault.at) if isinstance(answer.body, bytes) else answer


def _wrong_content_range(answer: Answer, fault: Row, _ask: Ask) -> Answer:
    match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", answer.headers.get("Content-Range", ""))
    if match is None:
        return answer
    first, last, size = (int(number) for number in match.groups())
    shift = fault.at or 1
    return answer.with_headers(Content_Range=f"bytes {first + shift}-{last + shift}/{size}")


def _changed_etag(answer: Answer, fault: Row, _ask: Ask) -> Answer:
    changed = f'"{fault.value or "f" * 64}"'
    return replace(
        answer,
        headers={name: changed if name in {"ETag", "X-Linked-ETag"} else old for name, old in answer.headers.items()},
    )


def _header(answer: Answer, fault: Row, _ask: Ask) -> Answer:
    """Set the header of `value` ("Name: text"), or remove it ("Name")."""
    name, colon, text = fault.value.partition(":")
    rest = {known: old for known, old in answer.headers.items() if known.lower() != name.lower()}
    return replace(answer, headers={**rest, name: text.strip()} if colon else rest)


def _foreign_page(answer: Answer, fault: Row, _ask: Ask) -> Answer:
    link = re.sub(r"<https?://[^/]+/", f"<{fault.value or 'http://127.0.0.2:9'}/", answer.headers.get("Link", ""))
    return answer.with_headers(Link=link) if link else answer


def _endless_pages(answer: Answer, _fault: Row, ask: Ask) -> Answer:
    return answer.with_headers(Link=f'<{ask.base}{ask.path}?recursive=true>; rel="next"')


def _disagreeing_git(answer: Answer, _fault: Row, _ask: Ask) -> Answer:
    if not isinstance(answer.body, bytes):
        return answer
    # Another first digit of every id: still an advertisement, of other commits.
    body = re.sub(rb"(?<=[0-9a-f]{4})([0-9a-f])(?=[0-9a-f]{39} )", lambda m: b"%x" % (int(m[1], 16) ^ 8), answer.body)
    return replace(answer, body=body)


def _missing_refs(answer: Answer, _fault: Row, _ask: Ask) -> Answer:
    if not isinstance(answer.body, bytes) or not answer.body.startswith(b"001e# service"):
        return answer
    # The first reference carries the capabilities: it stays, and names nothing but HEAD.
    head, _, rest = answer.body.partition(b"0000")
    return replace(answer, body=head + b"0000" + rest[: int(rest[:4], 16)] + b"0000")


def _edit(answer: Answer, fault: Row, _ask: Ask) -> Answer:
    return _with_json(answer, fault.edit) if fault.edit else answer


def _with_json(answer: Answer, edit: Callable[[Any], Any]) -> Answer:
    if answer.status != 200 or not isinstance(answer.body, bytes) or not answer.body:
        return answer
    return replace(answer, body=json.dumps(edit(json.loads(answer.body)), ensure_ascii=False).encode())


def _entries(document: Any) -> list[dict[str, Any]]:
    """The entries of a listing, whichever hub's."""
    if isinstance(document, list):
        return document
    data = document.get("Data") if isinstance(document, dict) else None
    files = data.get("Files") if isinstance(data, dict) else None
    return files if isinstance(files, list) else []


def _listing(change: Callable[[list[dict[str, Any]], Row], None]) -> Edit:
    def edit(answer: Answer, fault: Row, _ask: Ask) -> Answer:
        def changed(document: Any) -> Any:
            change(_entries(document), fault)
            return document

        return _with_json(answer, changed)

    return edit


def _mask(entries: list[dict[str, Any]], _fault: Row) -> None:
    for entry in entries:
        if "lfs" in entry:
            entry["lfs"]["oid"] = MASK


def _unknown_type(entries: list[dict[str, Any]], fault: Row) -> None:
    for entry in entries[:1]:
        entry["type" if "type" in entry else "Type"] = fault.value or "commit"


def _lfs_size(entries: list[dict[str, Any]], _fault: Row) -> None:
    for entry in [entry for entry in entries if "lfs" in entry][:1]:
        entry["lfs"]["size"] += 1


def _bad_path(entries: list[dict[str, Any]], fault: Row) -> None:
    for entry in entries[:1]:
        entry["path" if "path" in entry else "Path"] = fault.value or "../escape"


def _twice(entries: list[dict[str, Any]], _fault: Row) -> None:
    entries.extend([dict(entry) for entry in entries[:1]])


def _no_sha256(entries: list[dict[str, Any]], fault: Row) -> None:
    for entry in [entry for entry in entries if entry.get("Type") == "blob"][:1]:
        entry["Sha256"] = fault.value


def _bad_commit(answer: Answer, fault: Row, _ask: Ask) -> Answer:
    def changed(document: Any) -> Any:
        if "sha" in document:
            document["sha"] = fault.value or "main"
        for commit in (document.get("Data") or {}).get("Commit") or []:
            commit["Id"] = fault.value or "master"
        return document

    return _with_json(answer, changed)


#: Every fault that is another answer. What each does is tabled in docs/local-hub.md.
EDITS: Mapping[str, Edit] = {
    "status": _status,
    "not_json": _not_json,
    "redirect": _redirect,
    "padded": _padded,
    "wrong_content_range": _wrong_content_range,
    "changed_etag": _changed_etag,
    "header": _header,
    "foreign_page": _foreign_page,
    "endless_pages": _endless_pages,
    "disagreeing_git": _disagreeing_git,
    "missing_refs": _missing_refs,
    "bad_commit": _bad_commit,
    "masked_tree": _listing(_mask),
    "unknown_type": _listing(_unknown_type),
    "lfs_size": _listing(_lfs_size),
    "bad_path": _listing(_bad_path),
    "duplicate_entry": _listing(_twice),
    "no_sha256": _listing(_no_sha256),
    "edit": _edit,
}
