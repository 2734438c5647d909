"""Owns how an answer leaves: headers, then bytes by sendfile, or piece by piece when a fault wants it so.

Refuses to decide what is sent.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from dataclasses import dataclass

from gpustack_models.hub_server.faults import Effects
from gpustack_models.hub_server.protocol import Connection, Receive, Send
from gpustack_models.hub_server.record import Open
from gpustack_models.hub_server.wire import Answer

_PIECE = 256 << 10
_BODYLESS = frozenset({204, 304})


@dataclass(frozen=True)
class Line:
    """The way to one client, until it is gone or the hub closes."""

    connection: Connection
    receive: Receive
    send: Send
    closing: asyncio.Event

    async def pause(self, seconds: float | None) -> bool:
        """Wait; False when the client went away or the hub closes first. None waits for just that."""
        waits = [asyncio.ensure_future(self.receive()), asyncio.ensure_future(self.closing.wait())]
        done, pending = await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        return not done


async def transmit(line: Line, answer: Answer, file: io.BufferedReader | None, effects: Effects, request: Open) -> None:
    """Send an answer, with its effects. `file` is open when the body is part of one."""
    if effects.silent:
        await line.pause(None)
        return line.connection.close()
    if effects.wait and not await line.pause(effects.wait):
        return line.connection.close()
    if effects.reset_at is not None and effects.reset_at < 0:
        return await line.connection.reset()
    request.status = answer.status
    headers = dict(answer.headers)
    if answer.status not in _BODYLESS:
        headers["Content-Length"] = str(answer.length)
    encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await line.send({"type": "http.response.start", "status": answer.status, "headers": encoded})
    if not request.head and not await _body(line, answer, file, effects, request):
        return None
    return await line.send({"type": "http.response.body", "body": b"", "more_body": False})


async def _body(line: Line, answer: Answer, file: io.BufferedReader | None, effects: Effects, request: Open) -> bool:
    """Send the body; False when the connection did not live to its end."""
    if not answer.length:
        return True
    if file is not None and not isinstance(answer.body, bytes) and effects == Effects():
        request.sent = answer.length
        request.sent = await line.connection.send_file(file, answer.body.start, answer.body.count)
        return request.sent == answer.length
    stops = (at for at in (effects.cut_at, effects.reset_at) if at is not None)
    end = min(answer.length, *stops, answer.length)
    async for piece in _pieces(line, answer, file, effects, end):
        request.sent += len(piece)
        await line.send({"type": "http.response.body", "body": piece, "more_body": True})
    if end == answer.length:
        return not line.connection.lost
    if end == effects.reset_at:
        await line.connection.reset()
    else:
        line.connection.close()
    # The server has to see the connection go before this request counts as over.
    await line.pause(5)
    return False


async def _pieces(
    line: Line, answer: Answer, file: io.BufferedReader | None, effects: Effects, end: int
) -> AsyncIterator[bytes]:
    size = max(effects.rate // 20, 1) if effects.rate else _PIECE
    start = 0 if isinstance(answer.body, bytes) else answer.body.start
    position = 0
    while position < end and not line.connection.lost:
        if position == effects.stall_at and not await line.pause(effects.stall):
            return
        stop = min(position + size, end)
        if effects.stall_at is not None and position < effects.stall_at:
            stop = min(stop, effects.stall_at)
        piece = _read(answer, file, position, stop)
        yield _flipped(piece, start + position, effects.flips)
        if effects.rate and not await line.pause(len(piece) / effects.rate):
            return
        position = stop


def _read(answer: Answer, file: io.BufferedReader | None, start: int, stop: int) -> bytes:
    if isinstance(answer.body, bytes) or file is None:
        return answer.body[start:stop] if isinstance(answer.body, bytes) else b""
    file.seek(answer.body.start + start)
    return file.read(stop - start)


def _flipped(piece: bytes, offset: int, flips: frozenset[int]) -> bytes:
    hit = [at - offset for at in flips if offset <= at < offset + len(piece)]
    if not hit:
        return piece
    changed = bytearray(piece)
    for at in hit:
        changed[at] ^= 1
    return bytes(changed)
