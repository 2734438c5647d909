"""Owns the sockets that a local hub listens on.

Refuses nothing of what it is told; whoever serves other machines says so (`is_loopback`).
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Sequence

from gpustack_models.errors import GsmError, Reason

#: Large enough that one sendfile call is worth its system call.
_SEND_BUFFER = 4 << 20
_BACKLOG = 1024
_LAST_PORT = 65535


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def authority(bound: socket.socket) -> str:
    """The host and port by which this machine reaches a listening socket, as a URL has them."""
    host, port = bound.getsockname()[:2]
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - what was asked for, made reachable
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def listen(host: str, ports: Sequence[int]) -> list[socket.socket]:
    """One listening socket a port. Raises GsmError(InvalidInput) that names the port and the next step."""
    sockets: list[socket.socket] = []
    try:
        for port in ports:
            if not 0 <= port <= _LAST_PORT:
                raise OSError(errno.EINVAL, f"a port is a number up to {_LAST_PORT}")
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            bound = socket.socket(family, kind, protocol)
            sockets.append(bound)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            bound.bind(address)
            bound.listen(_BACKLOG)
    except OSError as error:
        for bound in sockets:
            bound.close()
        raise _not_bound(error, host, port) from None
    return sockets


def _not_bound(error: OSError, host: str, port: int) -> GsmError:
    if error.errno == errno.EADDRINUSE:
        return GsmError(
            Reason.INVALID_INPUT, f"port {port} of {host} is in use", hint="choose another, or 0 for a free one"
        )
    return GsmError(
        Reason.INVALID_INPUT,
        f"cannot listen on {host} port {port}: {error.strerror or error}",
        hint="give an address of this machine: 127.0.0.1 for itself alone, 0.0.0.0 for others too",
    )
