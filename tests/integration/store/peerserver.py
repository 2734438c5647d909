"""Owns a small peer server for tests: a store's published trees over `/peer/v1`, with byte ranges, as the specification
has it; and lies, when told to.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

from gpustack_models.store.store import Store

_TREE = re.compile(r"/peer/v1/trees/([0-9a-f]{64})(?:/files/(.+))?")
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


class PeerServer(ThreadingHTTPServer):
    """Serves one store. `lie` may change what is sent of a path (an empty one is the manifest)."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.store = Store.open(root)
        self.lie: Callable[[str, bytes], bytes] = lambda _path, data: data
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PeerServer

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        match = _TREE.fullmatch(self.path)
        tree = self.server.store.lookup(f"sha256:{match[1]}") if match else None
        path = unquote(match[2] or "") if match else ""
        if tree is None or (path and path not in {entry.path for entry in tree.manifest.entries}):
            self._send(404, b"not published here")
            return
        data = self.server.lie(path, (tree.path / path).read_bytes() if path else tree.data)
        asked = _RANGE.fullmatch(self.headers.get("Range", ""))
        if asked is None:
            self._send(200, data)
            return
        first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
        self._send(206, data[first : last + 1], {"Content-Range": f"bytes {first}-{last}/{len(data)}"})

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments: object) -> None: ...


@contextmanager
def peer(root: Path) -> Iterator[PeerServer]:
    """A peer that serves the store at `root`."""
    with PeerServer(root) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            server.store.close()
