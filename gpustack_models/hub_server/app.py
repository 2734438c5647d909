"""Owns one request from its first byte to its last: read, recorded, answered in a thread, sent.

Refuses to know either hub: a face says what to answer, a fault what becomes of it.
"""

from __future__ import annotations

import asyncio
import base64
import io
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from gpustack_models.errors import GsmError, Reason
from gpustack_models.hub_server.faults import Faults, Met
from gpustack_models.hub_server.protocol import CONNECTION, Receive, Scope, Send
from gpustack_models.hub_server.record import Open, Record, redacted
from gpustack_models.hub_server.sending import Line, transmit
from gpustack_models.hub_server.settings import Tokens
from gpustack_models.hub_server.wire import (
    Answer,
    Ask,
    FilePart,
    Origin,
    header_text,
    json_answer,
    split_target,
    text_answer,
)

#: A face of the hub: the answer to a request, or None when the request is not one of its own.
Face = Callable[[Ask], Answer | None]

_MAX_BODY = 4 << 20
_METHODS = frozenset({"GET", "HEAD", "POST"})
_STATUS_OF = {Reason.NOT_FOUND: 404, Reason.SOURCE_UNAVAILABLE: 503}

log = logging.getLogger("gpustack_models.hub_server")


@dataclass(frozen=True)
class HubApp:
    """The ASGI application of both origins; `origins` tells them apart by the port that was asked."""

    origins: dict[int, Origin]
    faces: dict[Origin, Sequence[Face]]
    tokens: Tokens
    faults: Faults
    record: Record
    pool: ThreadPoolExecutor
    changed: Callable[[], None]
    closing: asyncio.Event

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        line = Line(scope[CONNECTION], receive, send, self.closing)
        ask = self._read_head(scope)
        request = Open(ask.origin, ask.method, ask.path, ask.query, redacted(ask.headers))
        self.record.begin(request)
        met = self.faults.meet(ask)
        request.faults = met.kinds
        try:
            await self._exchange(line, ask, met, request)
        except Exception:  # the boundary of the server: a defect must be seen, and end no other connection
            log.exception("%s broke", request.value())
            raise
        finally:
            self.record.end(request)

    async def _exchange(self, line: Line, ask: Ask, met: Met, request: Open) -> None:
        body = await _body(line.receive)
        answer, file = await asyncio.get_running_loop().run_in_executor(self.pool, self._answer, ask, body, met)
        try:
            await transmit(line, answer, file, met.effects, request)
        finally:
            if file:
                file.close()

    def _read_head(self, scope: Scope) -> Ask:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        segments, query = split_target(scope["raw_path"], scope["query_string"])
        host, port = scope["server"]
        # A proxy in front may have ended TLS; the links in an answer must lead back through it.
        scheme = "https" if headers.get("x-forwarded-proto") == "https" else "http"
        return Ask(
            method=scope["method"],
            segments=segments,
            query=query,
            headers=headers,
            caller=self.tokens.caller(_token_of(headers)),
            origin=self.origins[port],
            base=f"{scheme}://{headers.get('host') or f'{host}:{port}'}",
        )

    def _answer(self, ask: Ask, body: bytes | None, met: Met) -> tuple[Answer, io.BufferedReader | None]:
        """The answer, and the open file when its body is part of one. Runs in a thread: a face may have to hash."""
        try:
            if ask.method not in _METHODS:
                return text_answer("The local hub is read-only.\n", 405), None
            if body is None:
                return text_answer("Payload too large.\n", 413), None
            seen = met.ask(_with_body(ask, body))
            found = (answer for face in self.faces[ask.origin] if (answer := face(seen)) is not None)
            answer = met.answer(next(found, text_answer("Not Found\n", 404)), ask)
            file = self._open(answer.body) if isinstance(answer.body, FilePart) and ask.method != "HEAD" else None
        except GsmError as error:
            return _refusal(error), None
        except Exception:  # the same boundary, where an answer can still be given
            log.exception("%s %s failed", ask.method, ask.path)
            return json_answer({"error": "the local hub failed; its log says why"}, 500), None
        return answer, file

    def _open(self, part: FilePart) -> io.BufferedReader:
        """Open a file, and see that it still is the one that was hashed."""
        key = part.file
        try:
            handle = os.open(key.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            self.changed()
            raise _changed(key.path, error.strerror or "gone") from None
        file = os.fdopen(handle, "rb")
        status = os.fstat(handle)
        if (status.st_size, status.st_mtime_ns, status.st_ino) != (key.size, key.mtime_ns, key.inode):
            file.close()
            self.changed()
            raise _changed(key.path, "it changed on disk since it was hashed")
        return file


def _changed(path: str, why: str) -> GsmError:
    return GsmError(Reason.SOURCE_UNAVAILABLE, f"{path} is not served: {why}", hint="ask again", retry_after=1)


def _with_body(ask: Ask, body: bytes) -> Ask:
    return Ask(ask.method, ask.segments, ask.query, ask.headers, body, ask.caller, ask.origin, ask.base)


def _refusal(error: GsmError) -> Answer:
    status = _STATUS_OF.get(error.reason, 500)
    text = f"{error.message} ({error.hint})" if error.hint else error.message
    log.warning("%s", text)
    headers = {"X-Error-Message": header_text(text)}
    if error.retry_after is not None:
        headers["Retry-After"] = f"{error.retry_after:.0f}"
    return json_answer({"error": text}, status, headers)


async def _body(receive: Receive) -> bytes | None:
    """The request's body, or None when it is larger than any that a client of a read-only hub sends."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > _MAX_BODY:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _token_of(headers: dict[str, str]) -> str | None:
    """The token of a request, wherever its client puts it: a bearer, git's basic password, or ModelScope's cookie."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:
            return None
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get("m_session_id")
    except CookieError:
        return None
    return cookie.value if cookie else None
