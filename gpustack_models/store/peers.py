"""Owns asking another store for a tree: its manifest, bound to the digest, and where the bytes of its files are.

Refuses to trust a peer: what it lists is compared with the digest, what it sends is hashed like any other bytes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from urllib.parse import quote

import urllib3

from gpustack_models.core.location import Location, origin_of, without_query
from gpustack_models.core.manifest import Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.layout import tree_name
from gpustack_models.store.sources import Origin
from gpustack_models.store.trees import MAX_MANIFEST

_CHUNK = 1 << 20
_TIMEOUT_SECONDS = 30.0
#: A peer that sends a byte now and then must not hold an attempt for good.
_DEADLINE_SECONDS = 120.0


class PeerSource:
    """A digest's files at one peer (node-store.md, "Peers"). `headers` are for this peer alone; never print them."""

    origin = Origin.PEER

    def __init__(self, url: str, digest: str, headers: Mapping[str, str] | None = None) -> None:
        origin_of(url)
        self.endpoint = url.rstrip("/")
        self._digest = digest
        self._headers = dict(headers or {})
        self._tree = f"{self.endpoint}/peer/v1/trees/{tree_name(digest)}"

    def locate(self, path: str) -> Location:
        """Where the bytes of a manifest's path are; sends no request."""
        return Location(f"{self._tree}/files/{quote(path)}", self.endpoint, self._headers)

    def manifest(self) -> Manifest:
        """The peer's manifest of the digest.

        Raises GsmError(SourceUnavailable) for a peer that does not have it, does not answer, or lists something else.
        """
        name = without_query(self.endpoint)
        try:
            data = self._read(name)
        except urllib3.exceptions.HTTPError as error:
            raise GsmError(
                Reason.SOURCE_UNAVAILABLE, f"the peer {name} does not answer: {type(error).__name__}"
            ) from error
        try:
            manifest = Manifest.parse(data, name=f"the peer {name}'s manifest")
        except GsmError as error:
            raise GsmError(Reason.SOURCE_UNAVAILABLE, error.message) from error
        if manifest.digest != self._digest:
            raise GsmError(
                Reason.SOURCE_UNAVAILABLE,
                f"the peer {name} lists {manifest.digest}, but {self._digest} was asked for",
            )
        return manifest

    def _read(self, name: str) -> bytes:
        timeout = urllib3.Timeout(connect=_TIMEOUT_SECONDS, read=_TIMEOUT_SECONDS)
        with urllib3.PoolManager(timeout=timeout, retries=False) as pool:
            answer = pool.request("GET", self._tree, headers=self._headers, preload_content=False, redirect=False)
            with answer:
                if answer.status == 404:
                    raise GsmError(Reason.SOURCE_UNAVAILABLE, f"the peer {name} does not have {self._digest}")
                if answer.status != 200:
                    raise GsmError(Reason.SOURCE_UNAVAILABLE, f"the peer {name} answered {answer.status}")
                data = bytearray()
                until = time.monotonic() + _DEADLINE_SECONDS
                while chunk := answer.read1(_CHUNK):
                    data += chunk
                    if len(data) > MAX_MANIFEST or time.monotonic() > until:
                        why = "is too large" if len(data) > MAX_MANIFEST else "does not end"
                        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"the peer {name}'s manifest {why}")
                return bytes(data)
