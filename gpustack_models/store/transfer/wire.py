"""Owns the connections below urllib3's pools: bodies that give what has arrived, waits that another thread can cut.

Refuses requests and answers.
"""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import suppress
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool


class Call:
    """What one stream waits for. Another thread may `cut` it: the wait then ends at once, with an error."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.cut_off = False

    def cut(self) -> None:
        """End the wait, now or as soon as there is a connection."""
        with self._lock:
            self.cut_off = True
            if self._socket is not None:
                # Below TLS: its own shutdown would let the reader take ciphertext for content.
                with suppress(OSError):
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def let_go(self) -> None:
        """The wait is over; the connection may serve others now."""
        with self._lock:
            self._socket = None

    def holds(self, connected: Any) -> None:
        """The connection that is waited on."""
        with self._lock:
            self._socket = connected if isinstance(connected, socket.socket) else getattr(connected, "socket", None)
            if not self.cut_off:
                return
        self.cut()


class Calling(threading.local):
    """What this thread waits for, and whether the connection under it had served before."""

    call: Call | None = None
    reused = False


calling = Calling()


class _Response(http.client.HTTPResponse):
    """A body that gives what has arrived, in place of waiting until the buffer is full."""

    def readinto(self, buffer: Any) -> int:
        if self.fp is None or self.chunked or self.length is None:
            return super().readinto(buffer)
        view = memoryview(buffer)[: self.length]
        count = self.fp.readinto1(view)
        self.length -= count
        if not count or not self.length:
            self._close_conn()  # type: ignore[attr-defined]
        return count


class _Connection(HTTPConnection):
    response_class = _Response
    _served = False

    def request(self, *arguments: Any, **options: Any) -> None:
        calling.reused, self._served = self._served and self.sock is not None, True
        super().request(*arguments, **options)
        if calling.call is not None:
            calling.call.holds(self.sock)


class _SecureConnection(_Connection, HTTPSConnection):
    pass


class Pool(HTTPConnectionPool):
    """Kept connections for http."""

    ConnectionCls = _Connection


class SecurePool(HTTPSConnectionPool):
    """Kept connections for https."""

    ConnectionCls = _SecureConnection
