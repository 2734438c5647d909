"""Owns the signed, expiring links to LFS bytes at the second origin, and what that origin answers.

Refuses a link it did not sign, one that is over, and a request that brings a token along.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from urllib.parse import quote, urlencode, urlsplit

from gpustack_models.hub_server.content import content
from gpustack_models.hub_server.repository import File
from gpustack_models.hub_server.wire import Answer, Ask, text_answer

#: A CDN is another host. Two names of loopback are two hosts to a client: cookies and tokens stay behind.
_OTHER_NAME = {"127.0.0.1": "localhost", "localhost": "127.0.0.1"}


class Links:
    """Signs links to files, and serves what they name. `port` is the CDN's; `seconds` how long a link is good for;
    `clock` tells the seconds since the epoch.
    """

    def __init__(self, key: bytes, port: int, *, seconds: float, clock: Callable[[], float]) -> None:
        self._key = key
        self._port = port
        self._seconds = seconds
        self._clock = clock
        self._files: dict[str, File] = {}

    def sign(self, file: File, base: str) -> str:
        """The link to a file's bytes, for a client that reached the hub at `base`."""
        self._files[file.sha256] = file
        host = urlsplit(base).hostname or "127.0.0.1"
        expires = str(int(self._clock() + self._seconds))
        name = quote(file.path.rpartition("/")[2], safe="")
        path = f"repos/{file.sha256[:2]}/{file.sha256[2:4]}/{file.sha256}"
        signature = self._signature(path, expires)
        query = urlencode({"response-content-disposition": f"inline; filename={name}", "Expires": expires})
        authority = _OTHER_NAME.get(host, f"[{host}]" if ":" in host else host)
        return f"http://{authority}:{self._port}/{path}?{query}&Key-Pair-Id=LOCALHUB&Signature={signature}"

    def answer(self, ask: Ask) -> Answer:
        """What the CDN answers: the bytes, for a good link and nothing else."""
        if "authorization" in ask.headers:
            return text_answer("Only one auth mechanism allowed: the link is signed, a token does not belong here", 400)
        path = "/".join(ask.segments)
        expires = ask.query.get("Expires", "")
        if not hmac.compare_digest(ask.query.get("Signature", "").encode(), self._signature(path, expires).encode()):
            return text_answer("SignatureDoesNotMatch", 403)
        if int(expires) < self._clock():
            return text_answer("AccessDenied: Request has expired", 403)
        file = self._files.get(ask.segments[-1])
        return content(ask, file, {"X-Linked-ETag": f'"{file.sha256}"'}) if file else text_answer("NoSuchKey", 404)

    def _signature(self, path: str, expires: str) -> str:
        return hmac.new(self._key, f"{path}\n{expires}".encode(), hashlib.sha256).hexdigest()
