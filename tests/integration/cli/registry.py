"""Owns a registry on loopback that speaks the distribution protocol's manifests, with each kind of its authentication.

Refuses blobs and pushing; looking up asks for neither.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
BEARER = "a-registry-token"


def manifest(*sizes: int) -> bytes:
    """An image manifest whose layers have these sizes."""
    layers = [
        {"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": f"sha256:{n:064}", "size": size}
        for n, size in enumerate(sizes)
    ]
    return json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "layers": layers}).encode()


def digest(data: bytes) -> str:
    """The digest of a manifest's bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclass
class Registry:
    """What is served: manifests by repository and tag. `auth` is "", "basic" or "bearer", for one user."""

    images: Mapping[str, Mapping[str, bytes]]
    auth: str = ""
    user: tuple[str, str] = ("alice", "planted-registry-password")
    status: int = 0
    lie: str = ""
    host: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)

    def manifest_of(self, repository: str, reference: str) -> bytes | None:
        """The manifest of a tag or a digest."""
        tags = self.images.get(repository, {})
        return tags.get(reference) or next((each for each in tags.values() if digest(each) == reference), None)

    @property
    def basic(self) -> str:
        """The user's credentials as a header has them."""
        return "Basic " + base64.b64encode(":".join(self.user).encode()).decode()


@contextmanager
def serving(registry: Registry) -> Iterator[Registry]:
    """Serve until the block ends; `registry.host` is its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = self.headers.get("Authorization", "")
            registry.asked.append((self.path, given))
            path = urlsplit(self.path).path
            if path == "/token":
                allowed = given == registry.basic
                self.answer(200 if allowed else 401, json.dumps({"token": BEARER}).encode() if allowed else b"{}")
            elif registry.status:
                self.answer(registry.status, b"{}")
            elif registry.auth == "basic" and given != registry.basic:
                self.answer(401, b"{}", {"Www-Authenticate": 'Basic realm="a registry"'})
            elif registry.auth == "bearer" and given != f"Bearer {BEARER}":
                realm = f'Bearer realm="http://{registry.host}/token",service="here",scope="repository:x:pull"'
                self.answer(401, b"{}", {"Www-Authenticate": realm})
            else:
                self.manifest(path)

        def manifest(self, path: str) -> None:
            repository, _, reference = path.removeprefix("/v2/").partition("/manifests/")
            found = registry.manifest_of(repository, reference)
            if found is None:
                code = "MANIFEST_UNKNOWN" if repository in registry.images else "NAME_UNKNOWN"
                self.answer(404, json.dumps({"errors": [{"code": code}]}).encode())
            else:
                self.answer(200, found, {"Docker-Content-Digest": registry.lie or digest(found)})

        def answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), "Content-Type": MANIFEST, **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.host = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
