"""Owns one node's way to the hub: a relay on this machine that copies bytes both ways, run as a process of the bed.

Refuses to look inside: cutting a node off is stopping this process (refused) or freezing it (silence).
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading

_CHUNK = 1 << 16


def serve(listen: tuple[str, int], target: tuple[str, int]) -> None:
    """Accept for ever; one pair of threads per connection."""
    with socket.create_server(listen, backlog=128, reuse_port=False) as server:
        while True:
            client, _ = server.accept()
            threading.Thread(target=_join, args=(client, target), daemon=True).start()


def _join(client: socket.socket, target: tuple[str, int]) -> None:
    with client:
        try:
            upstream = socket.create_connection(target, timeout=10)
        except OSError:
            return
        upstream.settimeout(None)
        with upstream:
            back = threading.Thread(target=_copy, args=(upstream, client), daemon=True)
            back.start()
            _copy(client, upstream)
            back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def main(arguments: list[str]) -> None:
    """``relay.py TARGET-PORT ADDRESS:PORT…``: what comes to each address goes to the port on 127.0.0.1."""
    target = ("127.0.0.1", int(arguments[0]))
    places = [(address, int(port)) for address, port in (place.rsplit(":", 1) for place in arguments[1:])]
    threads = [threading.Thread(target=serve, args=(place, target)) for place in places]
    for thread in threads:
        thread.start()


if __name__ == "__main__":
    main(sys.argv[1:])
