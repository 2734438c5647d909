"""Owns what a store tells of itself: its models by digest, and its status, as a person or a machine reads them.

Refuses to change anything, and to name a credential: it has none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from gpustack_models.core.manifest import Entry
from gpustack_models.errors import Reason
from gpustack_models.store import progress
from gpustack_models.store.attempts import retry_in
from gpustack_models.store.capacity import Usage
from gpustack_models.store.facts import TreeFact
from gpustack_models.store.handles import storing
from gpustack_models.store.locking import Holder
from gpustack_models.store.progress import Download
from gpustack_models.store.records import Asked, Failure, Pin, Use
from gpustack_models.store.scan import Scanner
from gpustack_models.store.sources import Want
from gpustack_models.store.store import Store
from gpustack_models.store.transfer.partial import kept_bytes


class State(StrEnum):
    """How a digest stands; the first three as in a NodeModelStore's status."""

    READY = "Ready"
    DOWNLOADING = "Downloading"
    FAILED = "Failed"
    #: Asked for once and not finished: an interrupted pull, a tree that was found broken.
    INCOMPLETE = "Incomplete"
    #: Nothing of it is here but a pin.
    ABSENT = "Absent"


@dataclass(frozen=True, slots=True)
class Model:
    """One digest: sizes in bytes (None: not known), times in seconds since the epoch.

    `retry_time` is set while a failed digest backs off.
    """

    digest: str
    state: State
    names: tuple[str, ...] = ()
    size: int | None = None
    files: int | None = None
    downloaded: int | None = None
    references: int = 0
    pinned: bool = False
    last_used: float | None = None
    source: str = ""
    reason: Reason | None = None
    message: str = ""
    failures: int = 0
    retry_time: float | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The store as a whole; `stored` counts a file that many trees share once."""

    usage: Usage
    stored: int
    models: tuple[Model, ...]
    downloads: tuple[Download, ...]
    holder: Holder | None


def status(store: Store) -> Status:
    """How the store stands now. Raises GsmError(UnknownFormat, StorageFailed)."""
    holder = store.holder()
    downloads = running(store, holder)
    with storing("the store cannot be looked at"):
        inodes = {blob.inode: blob.allocated for blob in store.blobs.all()}
    return Status(store.usage(), sum(inodes.values()), tuple(models(store, downloads)), tuple(downloads), holder)


def running(store: Store, holder: Holder | None) -> list[Download]:
    """What the writer downloads now; nothing when there is no writer, whatever a dead one left written."""
    return progress.read(store.root.ledger) if holder else []


def models(store: Store, downloads: list[Download] | None = None) -> list[Model]:
    """Every digest that the store has anything of, last used first. Raises GsmError(UnknownFormat, StorageFailed)."""
    if downloads is None:
        downloads = running(store, store.holder())
    under_way = {download.digest: download for download in downloads}
    with storing("the store cannot be listed"):
        trees = {tree.digest: tree for tree in Scanner(store).trees() if tree.valid}
        found = [_model(store, digest, trees.get(digest), under_way.get(digest)) for digest in store.known()]
    return sorted((model for model in found if model), key=lambda model: (-(model.last_used or 0), model.digest))


def _model(store: Store, digest: str, tree: TreeFact | None, download: Download | None) -> Model | None:
    use, asked = store.ledger.get(Use, digest), store.ledger.get(Asked, digest)
    pinned = store.ledger.get(Pin, digest) is not None
    names = use.names if use else (download.name,) if download and download.name else ()
    last = use.last.wall if use else asked.last.wall if asked else None
    model = Model(digest, State.ABSENT, names, pinned=pinned, last_used=last, source=use.source if use else "")
    if tree:
        return replace(model, state=State.READY, size=tree.size, files=tree.count, references=tree.references)
    if download:
        return replace(
            model,
            state=State.DOWNLOADING,
            size=download.size or None,
            downloaded=download.downloaded,
            source=download.source,
        )
    return _unpublished(store, model)


def _held(store: Store, entry: Entry) -> int:
    """How many bytes of a file need no fetching: all of a blob, or what a resume keeps of its partial file."""
    if store.blobs.find(entry.digest):
        return entry.size
    with storing("what is left of an interrupted download cannot be told"):
        return kept_bytes(store.root.partial, Want(entry.digest, entry.size, entry.path))


def _unpublished(store: Store, model: Model) -> Model | None:
    manifest = store.pending.get(model.digest)
    if manifest:
        held = sum(_held(store, entry) for entry in manifest.entries)
        model = replace(model, state=State.INCOMPLETE, size=manifest.size, files=manifest.file_count, downloaded=held)
    failure = store.ledger.get(Failure, model.digest)
    if failure is None:
        return model if manifest or model.pinned else None
    now = store.clock.now()
    left = retry_in(failure, now)
    return replace(
        model,
        state=State.FAILED,
        reason=failure.reason,
        message=failure.message,
        failures=failure.count,
        retry_time=now.wall + left if left else None,
    )
