"""Owns how hosts are reached: TLS that is trusted or refused, proxies, and no secret where it does not belong.

Refuses the internet: certificates are made here, and every host is loopback.
"""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from gpustack_models.core.network import HttpOptions
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.sources import Limits
from gpustack_models.store.transfer import Transfer
from tests.integration.store.faultserver import FaultServer, end_at, redirect, reset_at, stall_at
from tests.integration.store.transferring import MIB, QUICK, TOKEN, From, fetch, make_transfer, noise, want

SMALL = noise(5000)
LARGE = noise(9 * MIB + 1)
FILES = {"small": SMALL, "large": LARGE}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-made certificate and its key, for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").write_bytes(private)
    return folder


@pytest.fixture
def secure(certificate: Path) -> Iterator[FaultServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    server = FaultServer(dict(FILES), context)
    yield server
    server.close()


def trusting(certificate: Path, options: HttpOptions | None = None, stall: float = 3) -> Transfer:
    def trust() -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(certificate / "cert.pem"))

    return Transfer(Limits(stall_seconds=stall), options, trust=trust, retry=QUICK)


def test_a_trusted_certificate_is_spoken_to(secure: FaultServer, certificate: Path, tmp_path: Path) -> None:
    secure.then("large", reset_at(3 * MIB), end_at(2 * MIB), stall_at(MIB))
    wants = [want(path, content) for path, content in FILES.items()]
    got = fetch(wants, tmp_path, [From(secure.url)], transfer=trusting(certificate))
    assert {path: got.content(path) for path in FILES} == FILES


def test_an_unknown_certificate_is_refused_before_anything_is_said(secure: FaultServer, tmp_path: Path) -> None:
    with pytest.raises(GsmError, match="certificate is not trusted: self-signed certificate") as caught:
        fetch([want("small", SMALL)], tmp_path, [From(secure.url)])
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE
    assert secure.requests == []


def test_a_redirect_from_https_to_http_is_not_followed(secure: FaultServer, certificate: Path, tmp_path: Path) -> None:
    plain = FaultServer(dict(FILES))
    secure.always["small"] = redirect(f"{plain.url}/small")
    with pytest.raises(GsmError, match="from https to http") as caught:
        fetch([want("small", SMALL)], tmp_path, [From(secure.url)], transfer=trusting(certificate))
    plain.close()
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE
    assert plain.requests == []


def test_an_authority_that_cannot_be_read_is_an_invalid_request(secure: FaultServer, tmp_path: Path) -> None:
    def trust() -> ssl.SSLContext:
        raise GsmError(Reason.INVALID_INPUT, "the CA bundle /nowhere cannot be used: No such file")

    with pytest.raises(GsmError, match="CA bundle /nowhere") as caught:
        fetch([want("small", SMALL)], tmp_path, [From(secure.url)], transfer=Transfer(trust=trust, retry=QUICK))
    assert caught.value.reason is Reason.INVALID_REQUEST


def test_stopping_a_stalled_tls_stream_takes_no_ciphertext_for_content(
    secure: FaultServer, certificate: Path, tmp_path: Path
) -> None:
    secure.always["large"] = stall_at(5 * MIB + 77)
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    with pytest.raises(GsmError) as caught:
        fetch([want("large", LARGE)], tmp_path, [From(secure.url)], transfer=trusting(certificate, stall=30), stop=stop)
    assert caught.value.reason is Reason.CANCELED
    secure.always.clear()
    got = fetch([want("large", LARGE)], tmp_path, [From(secure.url)], transfer=trusting(certificate))
    assert got.content("large") == LARGE
    assert got.report is not None
    assert got.report.kept == 5 * MIB + 77


class Tunnel:
    """A proxy for https: it connects where it is told and passes bytes on, once the name and password are right."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with suppress(OSError), sock:
            head = b""
            while b"\r\n\r\n" not in head:
                head += sock.recv(4096)
            self.asked.append(head)
            host, port = head.split()[1].decode().split(":")
            with socket.create_connection((host, int(port))) as other:
                sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=self._pass_on, args=(other, sock), daemon=True)
                back.start()
                self._pass_on(sock, other)
                back.join()

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def test_https_goes_through_a_tunnel_that_sees_no_token(secure: FaultServer, certificate: Path, tmp_path: Path) -> None:
    tunnel = Tunnel()
    options = HttpOptions(proxy=f"http://user:pass%20word@127.0.0.1:{tunnel.port}")
    got = fetch([want("small", SMALL)], tmp_path, [From(secure.url)], transfer=trusting(certificate, options))
    tunnel.close()
    assert got.content("small") == SMALL
    (asked,) = tunnel.asked
    assert asked.startswith(f"CONNECT 127.0.0.1:{secure.port} ".encode())
    assert b"Basic dXNlcjpwYXNzIHdvcmQ=" in asked
    assert TOKEN.encode() not in asked
    assert all("proxy-authorization" not in one.headers for one in secure.requests)


def test_plain_http_is_asked_of_its_proxy(tmp_path: Path) -> None:
    proxy = FaultServer(dict(FILES))
    options = HttpOptions(http_proxy=f"http://127.0.0.1:{proxy.port}", no_proxy="elsewhere.example")
    transfer = Transfer(Limits(stall_seconds=3), options, retry=QUICK)
    got = fetch([want("small", SMALL)], tmp_path, [From("http://hub.example")], transfer=transfer)
    proxy.close()
    assert got.content("small") == SMALL
    assert [one.headers["host"] for one in proxy.asked("small")] == ["hub.example"]


def test_a_host_on_the_no_proxy_list_is_asked_straight(tmp_path: Path) -> None:
    server = FaultServer(dict(FILES))
    options = HttpOptions(http_proxy="http://127.0.0.1:9", no_proxy="127.0.0.0/8")
    transfer = Transfer(Limits(stall_seconds=3), options, retry=QUICK)
    got = fetch([want("small", SMALL)], tmp_path, [From(server.url)], transfer=transfer)
    server.close()
    assert got.content("small") == SMALL


def test_a_proxy_that_is_not_there_is_named_as_the_one(tmp_path: Path) -> None:
    transfer = Transfer(options=HttpOptions(http_proxy="http://127.0.0.1:9"), retry=QUICK)
    with pytest.raises(GsmError, match="the proxy cannot be reached"):
        fetch([want("small", SMALL)], tmp_path, [From("http://hub.example")], transfer=transfer)


def test_a_name_that_does_not_resolve_is_said(tmp_path: Path) -> None:
    with pytest.raises(GsmError, match="its name does not resolve") as caught:
        fetch([want("small", SMALL)], tmp_path, [From("http://hub.invalid")], transfer=make_transfer())
    assert caught.value.reason is Reason.SOURCE_UNAVAILABLE
