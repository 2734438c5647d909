"""Owns one attempt's way from a digest to a published tree: list, reserve, fetch, keep, publish.

Refuses to begin what does not fit, and to fetch a file that another attempt fetches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gpustack_models.core.manifest import FileDigest, Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import attempts as rules
from gpustack_models.store import mending, reserving
from gpustack_models.store.blobs import Verified
from gpustack_models.store.capacity import Watermarks
from gpustack_models.store.handles import storing
from gpustack_models.store.records import Asked
from gpustack_models.store.sources import Fetched, Origin, Source, TransferProgress, TransferReport, Want
from gpustack_models.store.transfer.partial import kept_bytes
from gpustack_models.store.trees import Tree, check_paths
from gpustack_models.store.underway import Attempt, Flights
from gpustack_models.store.writer import Writer

#: Small files are kept in batches: one wait for the disk in place of hundreds.
_BATCH_FILES = 512
_BATCH_BYTES = 64 << 20
_WAIT_SECONDS = 1.0
#: Ends of a transfer that another source cannot help.
_FINAL = (Reason.INSUFFICIENT_CAPACITY, Reason.STORAGE_FAILED, Reason.CANCELED)


class Transfer(Protocol):
    """The data plane: leaves verified files in `partial/`, resuming what lies there."""

    def fetch(
        self,
        wants: Sequence[Want],
        partial: Path,
        sources: Sequence[Source],
        *,
        progress: TransferProgress,
        on_file: Callable[[Fetched], None],
        stop: threading.Event,
    ) -> TransferReport:
        """Fetch files, the sources tried in order. Raises GsmError with a reason of node-store.md."""
        ...


@dataclass(frozen=True, slots=True)
class Shared:
    """What the attempts of a process share; `changed` guards the other two."""

    changed: threading.Condition
    attempts: Mapping[str, Attempt]
    flights: Flights


class Fetching:
    """One attempt at work, in its own thread."""

    def __init__(
        self, writer: Writer, transfer: Transfer, watermarks: Watermarks, attempt: Attempt, shared: Shared
    ) -> None:
        self._writer = writer
        self._transfer = transfer
        self._watermarks = watermarks
        self._attempt = attempt
        self._shared = shared
        self._errors: list[GsmError] = []
        #: Offers that failed; nothing of this attempt dials them again.
        self._spent: set[str] = set()
        self._batch: list[Verified] = []
        self._batch_bytes = 0
        self._batching = threading.Lock()

    def materialize(self) -> Tree:
        """The published tree. Raises GsmError with a reason of node-store.md; then nothing became visible."""
        attempt = self._attempt
        manifest = self._list()
        check_paths(manifest)
        self._writer.begin(attempt.digest, manifest)
        wants = self._missing(manifest)
        if wants:
            attempt.phase = "Reserving"
            partial = self._writer.root.partial
            with storing(f"what is left of {attempt.digest} cannot be told"):
                left = {want.digest: want.size - kept_bytes(partial, want) for want in wants}
            reserving.reserve(self._writer, self._watermarks, attempt, left, self._outstanding)
            with storing(f"{attempt.digest} cannot be begun"):
                self._writer.ledger.put(Asked(attempt.digest, attempt.number, self._writer.clock.now()))
                self._writer.pending.put(manifest)
            attempt.phase = "Downloading"
            self._fetch({want.digest: want for want in wants})
        self._check_wanted()
        attempt.planned = True
        attempt.phase = "Publishing"
        tree = self._writer.publish(manifest, attempt.number, attempt.source, attempt.names)
        mending.heal(self._writer, manifest)
        return tree

    def untried(self, known: Collection[str]) -> bool:
        """Whether somebody joined with an offer that is not among the `known` keys and was not tried."""
        return any(offer.key not in known and offer.key not in self._spent for offer in self._attempt.offers)

    def _list(self) -> Manifest:
        asked = set(self._spent)
        while offer := next((each for each in self._attempt.offers if each.key not in asked), None):
            self._check_wanted()
            asked.add(offer.key)
            try:
                manifest = offer.manifest()
                problem = rules.bound(offer, self._attempt.digest, manifest)
            except GsmError as error:
                problem = error
            if problem is None:
                self._attempt.manifest = manifest
                return manifest
            self._spent.add(offer.key)
            self._errors.append(problem)
        raise rules.verdict(self._attempt.digest, self._errors)

    def _missing(self, manifest: Manifest) -> list[Want]:
        wants = {}
        with storing(f"what is held of {manifest.digest} cannot be told"):
            for entry in manifest.entries:
                if entry.digest not in wants and not self._held(entry.digest, entry.size):
                    wants[entry.digest] = Want(entry.digest, entry.size, entry.path)
        return list(wants.values())

    def _held(self, digest: FileDigest, size: int) -> bool:
        found = self._writer.blobs.find(digest)
        return found is not None and found.size == size

    def _outstanding(self) -> list[dict[FileDigest, int]]:
        with self._shared.changed:
            return [dict(each.left) for each in self._shared.attempts.values() if each is not self._attempt]

    def _fetch(self, wants: Mapping[FileDigest, Want]) -> None:
        attempt, shared = self._attempt, self._shared
        while True:
            self._check_wanted()
            with shared.changed:
                mine = shared.flights.claim(attempt, attempt.left)
                if attempt.left and not mine:
                    shared.changed.wait(_WAIT_SECONDS)  # another attempt fetches what is still missing
                    continue
            if not mine:
                return
            if missing := self._still_missing(wants[digest] for digest in mine):
                self._run_transfer(missing)
            with shared.changed:
                shared.flights.release(attempt)

    def _still_missing(self, wants: Iterable[Want]) -> list[Want]:
        """Those that no other attempt brought between this one's look at the blobs and its claim."""
        missing: list[Want] = []
        held: list[Want] = []
        with storing(f"what is held of {self._attempt.digest} cannot be told"):
            for want in wants:
                (held if self._held(want.digest, want.size) else missing).append(want)
        with self._shared.changed:
            for want in held:
                self._attempt.left.pop(want.digest, None)
        return missing

    def _run_transfer(self, wants: Sequence[Want]) -> None:
        offers = [offer for offer in self._attempt.offers if offer.key not in self._spent]
        if not offers:
            raise rules.verdict(self._attempt.digest, self._errors)
        try:
            with storing(f"{self._attempt.digest} cannot be fetched"):
                self._transfer.fetch(
                    wants,
                    self._writer.root.path / "partial",
                    [offer.source for offer in offers],
                    progress=self._progress,
                    on_file=self._keep,
                    stop=self._attempt.stop,
                )
        except GsmError as error:
            self._flush()
            if error.reason in _FINAL or self._attempt.stop.is_set():
                raise
            # A refused pair hands over to the requesters that joined meanwhile.
            self._spent |= {offer.key for offer in offers}
            self._errors.append(error)
            return
        self._flush()
        if missing := [want.path for want in wants if want.digest in self._attempt.left]:
            raise GsmError(Reason.SOURCE_UNAVAILABLE, f"{self._attempt.digest}: {missing[0]!r} was not fetched")

    def _progress(self, want: Want, done: int, origin: Origin) -> None:
        attempt = self._attempt
        with self._shared.changed:
            if want.digest in attempt.left:
                before = want.size - attempt.left[want.digest]
                attempt.left[want.digest] = want.size - done
                attempt.origins[origin] += max(0, done - before)

    def _keep(self, fetched: Fetched) -> None:
        """A file is there and right: now, or with the next batch, it becomes a blob that every attempt finds."""
        file = Verified(fetched.path.name, fetched.want.size, fetched.digests, fetched.synced)
        if file.synced:
            self._adopt([file])
            return
        with self._batching:
            self._batch.append(file)
            self._batch_bytes += file.size
            if len(self._batch) < _BATCH_FILES and self._batch_bytes < _BATCH_BYTES:
                return
        self._flush()

    def _flush(self) -> None:
        with self._batching:
            batch, self._batch, self._batch_bytes = self._batch, [], 0
        if batch:
            self._adopt(batch)

    def _adopt(self, files: list[Verified]) -> None:
        self._writer.adopt(files)
        with self._shared.changed:
            for attempt in self._shared.attempts.values():
                for file in files:
                    for digest in file.digests:
                        attempt.left.pop(digest, None)
            self._shared.changed.notify_all()

    def _check_wanted(self) -> None:
        if self._attempt.stop.is_set():
            raise rules.canceled(self._attempt.digest, self._attempt.stopped_by)
