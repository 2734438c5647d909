"""Owns the ledger's files: each record in a small file of its own, put there in one step.

Refuses to read on past a record that it cannot read: a reference that is not understood still counts as one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress

from gpustack_models.store import records
from gpustack_models.store.handles import TEMPORARY, Dir
from gpustack_models.store.layout import Root, digest_of, tree_name
from gpustack_models.store.records import AnyRecord, Asked, Failure, Pin, Record, Reference, Use

_FOLDER: dict[type[Record], str] = {
    Reference: "references",
    Pin: "pins",
    Use: "uses",
    Failure: "failures",
    Asked: "attempts",
}


class Ledger:
    """The records of a store. Reading needs no lock; writing is for the writer."""

    def __init__(self, root: Root) -> None:
        self._folders: dict[type[Record], Dir] = {kind: root.records[name] for kind, name in _FOLDER.items()}

    def put(self, record: Record) -> None:
        """Write or replace a record; durable when this returns. Raises OSError."""
        self._folders[type(record)].write(file_name(record), records.encode(record))

    def get(self, kind: type[AnyRecord], digest: str) -> AnyRecord | None:
        """The record of a digest, or None. Not for references, which are named by their target."""
        return self._read(kind, tree_name(digest))

    def reference(self, target: str) -> Reference | None:
        """The reference of a target path, or None."""
        return self._read(Reference, _target_name(target))

    def all(self, kind: type[AnyRecord]) -> Iterator[AnyRecord]:
        """Every record of a kind. Raises GsmError(UnknownFormat, StorageFailed) at the first that cannot be read."""
        for name in self._folders[kind].names():
            if not name.startswith(TEMPORARY) and (record := self._read(kind, name)):
                yield record

    def drop(self, record: Record) -> None:
        """Remove a record; durable when this returns. One that is gone already is fine. Raises OSError."""
        folder = self._folders[type(record)]
        with suppress(FileNotFoundError):
            folder.unlink(file_name(record))
            folder.sync()

    def forget(self, kind: type[Record], digest: str) -> None:
        """Remove the record of a digest, durably with the next `sync`. What is gone already is fine. Raises OSError."""
        with suppress(FileNotFoundError):
            self._folders[kind].unlink(tree_name(digest))

    def sync(self) -> None:
        """Make what was forgotten durable."""
        for folder in self._folders.values():
            folder.sync()

    def digests(self) -> set[str]:
        """Every digest that has a record other than a reference."""
        folders = (folder for kind, folder in self._folders.items() if kind is not Reference)
        return {digest for folder in folders for name in folder.names() if (digest := digest_of(name))}

    def _read(self, kind: type[AnyRecord], name: str) -> AnyRecord | None:
        folder = self._folders[kind]
        try:
            data = folder.read(name, records.MAX_RECORD)
        except FileNotFoundError:
            return None
        return records.decode(data, kind, folder.join(name))


def file_name(record: Record) -> str:
    """The name of a record's file: of its target for a reference, of its digest for any other."""
    return _target_name(record.target) if isinstance(record, Reference) else tree_name(record.digest)


def _target_name(target: str) -> str:
    # A target path is longer than a file name may be.
    return hashlib.sha256(target.encode("utf-8", "surrogateescape")).hexdigest()
