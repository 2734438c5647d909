"""Owns what a digest under way leaves in `partial/` beside its bytes: the manifest asked for, until it is published.

Refuses a manifest that does not hash to its name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress

from gpustack_models.core.manifest import Algorithm, FileDigest, Manifest
from gpustack_models.errors import GsmError
from gpustack_models.store.layout import Root, digest_of, tree_name
from gpustack_models.store.transfer import checkpoint
from gpustack_models.store.trees import MAX_MANIFEST

_SUFFIX = ".manifest"
#: The names of the transfer (transfer/partial.py): the bytes, and the checkpoints beside them.
_FILE = re.compile(rf"(sha256|gitsha1)-([0-9a-f]+)(?:{re.escape(checkpoint.SUFFIX)})?")


class Pending:
    """The manifests of digests that were asked for and are not published. They keep what is already here."""

    def __init__(self, root: Root) -> None:
        self._root = root

    def put(self, manifest: Manifest) -> None:
        """Keep a manifest, durably. Raises OSError."""
        name = _name(manifest.digest)
        if self._root.partial.stat(name) is None:
            self._root.partial.write(name, manifest.data)

    def get(self, digest: str) -> Manifest | None:
        """The manifest of a digest, or None; one that is not what its name says is none."""
        try:
            data = self._root.partial.read(_name(digest), MAX_MANIFEST)
            if hashlib.sha256(data).hexdigest() == tree_name(digest):
                return Manifest.parse(data, name=digest)
        except (FileNotFoundError, GsmError):
            pass
        return None

    def drop(self, digest: str) -> None:
        """Forget a digest. What is gone already is fine. Raises OSError."""
        with suppress(FileNotFoundError):
            self._root.partial.unlink(_name(digest))

    def all(self) -> Iterator[Manifest]:
        """Every manifest kept."""
        for name in sorted(self._root.partial.names()):
            if (digest := pending_digest(name)) and (manifest := self.get(digest)):
                yield manifest


def pending_digest(name: str) -> str | None:
    """The manifest digest that a name in `partial/` keeps the manifest of, or None."""
    return digest_of(name.removesuffix(_SUFFIX)) if name.endswith(_SUFFIX) else None


def file_of(name: str) -> FileDigest | None:
    """The file digest whose download a name in `partial/` belongs to, or None."""
    if found := _FILE.fullmatch(name):
        digest = FileDigest(Algorithm(found[1]), found[2])
        return digest if len(digest.hex) == digest.algorithm.hex_length else None
    return None


def _name(digest: str) -> str:
    return f"{tree_name(digest)}{_SUFFIX}"
