"""Owns a server, as a process of its own, of many tiny files: `/<number>` has a content that follows from the number.

Refuses everything a hub does beside that: it is here so that a test of many files waits for the store alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys

SIZE = 1024


def content(number: int) -> bytes:
    """The file of a number: 1 KiB, unlike any other."""
    return (hashlib.sha256(b"%d" % number).digest() * (SIZE // 32))[:SIZE]


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._left = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *requests, self._left = (self._left + data).split(b"\r\n\r\n")
        for request in requests:
            number = int(request.split(b" ", 2)[1].rpartition(b"/")[2])
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE + content(number))


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(_serve()))
