"""Owns a loopback server that serves files byte by byte as told, right or wrong: faults are on the wire, never patched.

Refuses to be a good HTTP server: it knows what the data plane asks for, and what can go wrong under it.
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

_RANGE = re.compile(r"bytes=(\d+)-(\d+)")
_CHUNK = 64 << 10


@dataclass
class Exchange:
    """One request: what was asked, and the socket that the answer goes to."""

    path: str
    headers: dict[str, str]
    sock: socket.socket
    content: bytes
    closing: threading.Event
    at: float = field(default_factory=time.monotonic)
    #: Before its last bytes were sent: until then it was surely under way.
    until: float = 0
    keep: bool = True

    @property
    def range(self) -> tuple[int, int] | None:
        """The bytes [start, end) asked for."""
        match = _RANGE.fullmatch(self.headers.get("range", ""))
        return (int(match[1]), int(match[2]) + 1) if match else None

    def head(self, status: str, **headers: object) -> None:
        """Send a status line and headers (`content_length=3` is `Content-Length: 3`)."""
        lines = [f"HTTP/1.1 {status}"] + [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())

    def send(self, data: bytes, *, rate: float = 0) -> None:
        """Send body bytes, at most so many a second."""
        for start in range(0, len(data), _CHUNK):
            piece = data[start : start + _CHUNK]
            if rate:
                self.closing.wait(len(piece) / rate)
            self.until = time.monotonic()
            self.sock.sendall(piece)

    def reset(self) -> None:
        """Cut the connection with a TCP reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        """Close the connection after what was sent."""
        self.keep = False
        if isinstance(self.sock, ssl.SSLSocket):
            with suppress(OSError):
                self.sock.unwrap()
        self.sock.close()

    def hang(self) -> None:
        """Say nothing more until the client gives up."""
        self.keep = False
        self.sock.settimeout(0.1)
        while not self.closing.is_set():
            try:
                if not self.sock.recv(1):
                    return
            except TimeoutError:
                continue
            except OSError:
                return


Behaviour = Callable[[Exchange], None]


def serve(exchange: Exchange, *, etag: str = '"v1"', rate: float = 0, most: int = 0) -> None:
    """The right answer: whole, or the range asked for (at most `most` bytes of it)."""
    size = len(exchange.content)
    if exchange.range is None:
        exchange.head("200 OK", content_length=size, etag=etag)
        exchange.send(exchange.content, rate=rate)
        return
    start, end = exchange.range
    end = min(end, size, start + most if most else end)
    exchange.head(
        "206 Partial Content", content_length=end - start, content_range=f"bytes {start}-{end - 1}/{size}", etag=etag
    )
    exchange.send(exchange.content[start:end], rate=rate)


class FaultServer:
    """Serves `files` by path. Queued behaviours meet a path's next requests, one each; `always` meets the rest."""

    def __init__(self, files: dict[str, bytes], context: ssl.SSLContext | None = None) -> None:
        self.files = files
        self.always: dict[str, Behaviour] = {}
        self.requests: list[Exchange] = []
        self._queued: dict[str, deque[Behaviour]] = defaultdict(deque)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def then(self, path: str, *behaviours: Behaviour) -> None:
        """What the next requests for a path meet, in order."""
        self._queued[path].extend(behaviours)

    def asked(self, path: str) -> list[Exchange]:
        """The requests for a path so far."""
        return [one for one in self.requests if one.path == path]

    def most_at_once(self) -> int:
        """How many requests were surely under way at one moment."""
        spans = [(one.at, one.until) for one in self.requests if one.until]
        return max(sum(start <= at < end for start, end in spans) for at, _ in spans)

    def close(self) -> None:
        """Stop, and let every hanging answer go."""
        self._closing.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._converse, args=(sock,), daemon=True).start()

    def _converse(self, sock: socket.socket) -> None:
        with suppress(OSError, ValueError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context:
                sock = self._context.wrap_socket(sock, server_side=True)
            with sock, sock.makefile("rb") as stream:
                while exchange := self._read(sock, stream):
                    self.requests.append(exchange)
                    self._behaviour(exchange.path)(exchange)
                    if not exchange.keep:
                        return

    def _read(self, sock: socket.socket, stream: object) -> Exchange | None:
        line = stream.readline()  # type: ignore[attr-defined]
        if not line:
            return None
        _, target, _ = line.decode("latin-1").split(" ", 2)
        headers = {}
        while line := stream.readline().decode("latin-1").strip():  # type: ignore[attr-defined]
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        path = re.sub(r"^http://[^/]*", "", target).partition("?")[0].lstrip("/")
        return Exchange(path, headers, sock, self.files.get(path, b""), self._closing)

    def _behaviour(self, path: str) -> Behaviour:
        with self._lock:
            if self._queued[path]:
                return self._queued[path].popleft()
            return self.always.get(path, serve if path in self.files else status("404 Not Found"))


# Behaviours: what one answer does. Positions count the bytes of its body.


def status(line: str, **headers: object) -> Behaviour:
    """An answer without the file."""
    return lambda exchange: exchange.head(line, content_length=0, **headers)


def reset_at(position: int) -> Behaviour:
    """A TCP reset in mid-body; -1 is before the headers."""

    def behave(exchange: Exchange) -> None:
        _begin(exchange, position)
        # The client takes what arrived before the reset discards it.
        time.sleep(0.05)
        exchange.reset()

    return behave


def end_at(position: int) -> Behaviour:
    """The connection closed in order, too early; -1 is before the headers."""

    def behave(exchange: Exchange) -> None:
        _begin(exchange, position)
        exchange.close()

    return behave


def stall_at(position: int) -> Behaviour:
    """Silence in mid-body; -1 is before the headers."""

    def behave(exchange: Exchange) -> None:
        _begin(exchange, position)
        exchange.hang()

    return behave


def drip_headers(exchange: Exchange) -> None:
    """Headers that never end, a byte at a time: no single wait is long."""
    exchange.keep = False
    with suppress(OSError):
        exchange.sock.sendall(b"HTTP/1.1 200 OK\r\n")
        while not exchange.closing.wait(0.05):
            exchange.sock.sendall(b"X")


def claim_length(difference: int) -> Behaviour:
    """A Content-Length that is not the file's, the body as long as it says."""

    def behave(exchange: Exchange) -> None:
        body = (exchange.content + bytes(max(0, difference)))[: len(exchange.content) + difference]
        exchange.head("200 OK", content_length=len(body))
        exchange.send(body)

    return behave


def chunked(difference: int, *, whole: bool = True) -> Behaviour:
    """A body of no told length, longer or shorter than the file, ended properly or not."""

    def behave(exchange: Exchange) -> None:
        start, end = exchange.range or (0, len(exchange.content))
        body = (exchange.content[start:end] + bytes(max(0, difference)))[: end - start + difference]
        if exchange.range:
            total = f"bytes {start}-{end - 1}/{len(exchange.content)}"
            exchange.head("206 Partial Content", transfer_encoding="chunked", content_range=total)
        else:
            exchange.head("200 OK", transfer_encoding="chunked")
        for at in range(0, len(body), _CHUNK):
            piece = body[at : at + _CHUNK]
            exchange.sock.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        if whole:
            exchange.sock.sendall(b"0\r\n\r\n")
        else:
            exchange.close()

    return behave


def ignore_range(exchange: Exchange) -> None:
    """The whole file, whatever was asked for."""
    exchange.head("200 OK", content_length=len(exchange.content), etag='"v1"')
    exchange.send(exchange.content)


def answer_range(shift: int = 0, total: int = 0, *, text: str | None = None) -> Behaviour:
    """A 206 whose Content-Range is not what was asked for, or not the file's."""

    def behave(exchange: Exchange) -> None:
        start, end = exchange.range or (0, len(exchange.content))
        told = f"bytes {start + shift}-{end - 1 + shift}/{len(exchange.content) + total}" if text is None else text
        exchange.head("206 Partial Content", content_length=end - start, content_range=told)
        exchange.send(exchange.content[start:end])

    return behave


def flip(position: int) -> Behaviour:
    """One bit of the file is wrong, in whichever answer it falls; negative positions count from the end."""

    def behave(exchange: Exchange) -> None:
        wrong = bytearray(exchange.content)
        wrong[position] ^= 0x10
        exchange.content = bytes(wrong)
        serve(exchange)

    return behave


def with_etag(etag: str) -> Behaviour:
    """The right bytes under another validator."""
    return lambda exchange: serve(exchange, etag=etag)


def at_rate(bytes_per_second: float) -> Behaviour:
    """The right answer, slowly."""
    return lambda exchange: serve(exchange, rate=bytes_per_second)


def at_most(count: int) -> Behaviour:
    """Ranges shorter than asked for, and honestly so."""
    return lambda exchange: serve(exchange, most=count)


def redirect(url: str, code: str = "302 Found") -> Behaviour:
    """The bytes are elsewhere."""
    return lambda exchange: exchange.head(code, location=url, content_length=0)


def raw(data: bytes) -> Behaviour:
    """Bytes that need not be HTTP."""

    def behave(exchange: Exchange) -> None:
        exchange.sock.sendall(data)
        exchange.close()

    return behave


def _begin(exchange: Exchange, position: int) -> None:
    if position < 0:
        return
    start, end = exchange.range or (0, len(exchange.content))
    if exchange.range:
        told = f"bytes {start}-{end - 1}/{len(exchange.content)}"
        exchange.head("206 Partial Content", content_length=end - start, content_range=told, etag='"v1"')
    else:
        exchange.head("200 OK", content_length=end - start, etag='"v1"')
    exchange.send(exchange.content[start : start + position])
