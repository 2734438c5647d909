"""Owns what an ASGI server does not offer: sending a file without copying it, and breaking a connection on purpose.

Refuses everything else; requests are parsed and connections kept by uvicorn.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Where the connection of a request is found in its scope.
CONNECTION = "gsm.connection"


_TICK = 0.005
_RESET_PATIENCE = 5.0


class Connection:
    """The connection of one request, below HTTP."""

    def __init__(self, protocol: HubProtocol) -> None:
        self._protocol = protocol

    @property
    def lost(self) -> bool:
        """Whether the client is gone."""
        return self._protocol.transport.is_closing()

    async def send_file(self, file: io.BufferedReader, start: int, count: int) -> int:
        """Send part of a file as response body, by sendfile where the system has it. Returns the bytes sent, which
        are fewer when the client went away.
        """
        # The framing counts these bytes as sent; they never pass through the interpreter.
        self._protocol.conn.send_with_data_passthrough(h11.Data(data=cast(bytes, _Length(count))))
        file.seek(start)
        try:
            return await asyncio.get_running_loop().sendfile(self._protocol.transport, file, start, count)
        except (ConnectionError, RuntimeError):
            self._protocol.transport.abort()
            return max(file.tell() - start, 0)

    async def reset(self) -> None:
        """End the connection with a TCP reset, once the client's system has what was written: it drops the rest."""
        transport = self._protocol.transport
        raw: socket.socket = transport.get_extra_info("socket")
        patience = _RESET_PATIENCE
        while not self.lost and patience > 0 and (transport.get_write_buffer_size() or _unacknowledged(raw)):
            await asyncio.sleep(_TICK)
            patience -= _TICK
        if not self.lost:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()

    def close(self) -> None:
        """End the connection in order, after what was written has left."""
        self._protocol.transport.close()


class HubServer(uvicorn.Server):
    """uvicorn's server, ending at once: a hub that ends cuts its answers off, as a machine that goes down does."""

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._closing = closing
        self._started = started

    async def main_loop(self) -> None:
        """Run until the hub closes; the tick keeps the `Date` header."""
        self._started()
        counter = 0
        while not self._closing.is_set():
            await self.on_tick(counter)
            counter += 10
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), 1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, drop every connection, and let what was answering come to its end."""
        for server in self.servers:
            server.close()
        for bound in sockets or []:
            bound.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=5)


class _Length:
    """Stands for a body of some length in the HTTP framing."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length


def _unacknowledged(raw: socket.socket) -> int:
    """The bytes that the system still has to deliver, where it can tell."""
    if not sys.platform.startswith("linux"):
        return 0
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(raw.fileno(), termios.TIOCOUTQ, b"\0" * 4), sys.byteorder)


class HubProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, with the connection handed to the application."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        app = cast(App, self.app)

        async def with_connection(scope: Scope, receive: Receive, send: Send) -> None:
            scope[CONNECTION] = Connection(self)
            await app(scope, receive, send)

        self.app = cast(Any, with_connection)
