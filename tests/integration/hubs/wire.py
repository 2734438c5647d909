"""Owns the loopback servers that stand in a hub's way: one that says any bytes it is told to, a proxy, a TLS front.

Refuses to be good at HTTP: a test says what goes over the wire, byte by byte.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Asked:
    """One request's first line and headers (lowercase names)."""

    method: str
    target: str
    headers: dict[str, str]


class Peer:
    """The client of one connection, for a script to speak to."""

    def __init__(self, sock: socket.socket, closing: threading.Event) -> None:
        self.sock = sock
        self.closing = closing

    def say(self, data: bytes | str) -> None:
        self.sock.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def answer(self, status: str = "200 OK", body: bytes = b"", **headers: object) -> None:
        named = {"Content-Length": len(body), **{name.replace("_", "-"): value for name, value in headers.items()}}
        lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in named.items()), "", ""]
        self.say("\r\n".join(lines).encode("latin-1") + body)

    def wait(self, seconds: float = 60) -> None:
        """Say nothing, until the server's end at the latest."""
        self.closing.wait(seconds)

    def drip(self, data: bytes, seconds: float) -> None:
        """Say one byte after the other."""
        for byte in data:
            if self.closing.wait(seconds):
                return
            self.say(bytes([byte]))

    def reset(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


Script = Callable[[Peer, Asked], None]


@dataclass
class Server:
    """What is known of a running server."""

    port: int
    scheme: str = "http"
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"


@contextmanager
def serving(script: Script, context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Serve on a free port of loopback: each request is handed to the script, until it closes the connection."""
    closing = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(listener.getsockname()[1], "https" if context else "http")
    threads: list[threading.Thread] = []

    def one(sock: socket.socket) -> None:
        with suppress(OSError, ssl.SSLError):
            if context:
                sock = context.wrap_socket(sock, server_side=True)
            peer = Peer(sock, closing)
            while (asked := head_of(sock)) is not None:
                server.asked.append(asked)
                script(peer, asked)
        with suppress(OSError):
            sock.close()

    def accept() -> None:
        with suppress(OSError):
            while True:
                sock, _ = listener.accept()
                server.connections += 1
                threads.append(threading.Thread(target=one, args=(sock,), daemon=True))
                threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield server
    finally:
        closing.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in [acceptor, *threads]:
            thread.join(5)


def head_of(sock: socket.socket) -> Asked | None:
    """Read one request's head; None when the client is gone. Requests of these tests have no body."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = sock.recv(65536)
        if not chunk:
            return None
        data += chunk
    first, *lines = data.decode("latin-1").split("\r\n\r\n")[0].split("\r\n")
    method, target, _ = first.split(" ")
    return Asked(
        method, target, {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
    )


def closed_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def proxying(*, user: str = "", password: str = "", context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A proxy of both kinds: CONNECT is tunnelled, an absolute URL is forwarded. With a user, it wants to know who."""
    expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    def script(peer: Peer, asked: Asked) -> None:
        if user and asked.headers.get("proxy-authorization") != expected:
            peer.answer("407 Proxy Authentication Required")
        elif asked.method == "CONNECT":
            host, _, port = asked.target.rpartition(":")
            with upstream(peer, host, int(port)) as onward:
                if onward:
                    peer.say("HTTP/1.1 200 Connection established\r\n\r\n")
                    shovel(peer.sock, onward)
        else:
            parts = urlsplit(asked.target)
            with upstream(peer, parts.hostname or "", parts.port or 80) as onward:
                if onward:
                    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                    kept = {name: value for name, value in asked.headers.items() if not name.startswith("proxy-")}
                    lines = [f"{asked.method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in kept.items())]
                    onward.sendall(("\r\n".join([*lines, "connection: close", "", ""])).encode("latin-1"))
                    shovel(peer.sock, onward)

    with serving(script, context) as server:
        yield server


@contextmanager
def upstream(peer: Peer, host: str, port: int) -> Iterator[socket.socket | None]:
    try:
        onward = socket.create_connection((host, port), 5)
    except OSError:
        peer.answer("502 Bad Gateway")
        yield None
        return
    with onward:
        yield onward


def shovel(one: socket.socket, other: socket.socket) -> None:
    """Pass bytes both ways until either side ends, then end the client's side."""
    with suppress(OSError):
        while True:
            ready = (
                [one]
                if isinstance(one, ssl.SSLSocket) and one.pending()
                else select.select([one, other], [], [], 30)[0]
            )
            for sock in ready:
                data = sock.recv(65536)
                if not data:
                    one.shutdown(socket.SHUT_RDWR)
                    return
                (other if sock is one else one).sendall(data)
            if not ready:
                return


@contextmanager
def fronting(port: int, context: ssl.SSLContext) -> Iterator[Server]:
    """TLS in front of a plain server on loopback."""

    def script(peer: Peer, asked: Asked) -> None:
        with socket.create_connection(("127.0.0.1", port), 5) as onward:
            lines = [f"{asked.method} {asked.target} HTTP/1.1", *(f"{n}: {v}" for n, v in asked.headers.items())]
            onward.sendall("\r\n".join([*lines, "connection: close", "", ""]).encode("latin-1"))
            shovel(peer.sock, onward)

    with serving(script, context) as server:
        yield server


@dataclass(frozen=True)
class Authority:
    """A private authority: its certificate as a PEM file, and a server's context for 127.0.0.1 (or another name)."""

    bundle: Path
    context: ssl.SSLContext


def authority(folder: Path, name: str = "127.0.0.1", *, days: int = 1) -> Authority:
    """Make an authority and a server's certificate that it signed; `days` below zero are a certificate long expired."""
    now = datetime.datetime.now(datetime.UTC)
    begin, end = (now - datetime.timedelta(days=30), now + datetime.timedelta(days=days))
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Private authority")])

    def builder(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
        )

    ca = (
        builder(issuer, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    try:
        subject: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        subject = x509.DNSName(name)
    certificate = (
        builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")]), key.public_key())
        .add_extension(x509.SubjectAlternativeName([subject]), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    bundle, chain = folder / "authority.pem", folder / "server.pem"
    bundle.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return Authority(bundle, context)
