"""Owns what `pull` and `verify --repair` share: from references to what is wanted, and the progress while it comes.

Refuses to decide what a transfer or an attempt means.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpustack_models.cli import asking
from gpustack_models.cli.asking import Asking
from gpustack_models.cli.node_store import access, common
from gpustack_models.cli.options import usage
from gpustack_models.cli.output import Advance, Output
from gpustack_models.core.manifest import is_digest
from gpustack_models.core.network import from_environment
from gpustack_models.core.patterns import Patterns
from gpustack_models.core.refs import FORMS, HubKind, HubRef
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.protocol import Hub
from gpustack_models.hubs.transport import trust
from gpustack_models.store.capacity import Watermarks
from gpustack_models.store.materialize import Materializer
from gpustack_models.store.progress import Download
from gpustack_models.store.sources import Limits
from gpustack_models.store.store import Store
from gpustack_models.store.transfer import Transfer
from gpustack_models.store.writer import Writer
from gpustack_models.workflows.lookup import Found
from gpustack_models.workflows.pull import Pulled, Wanted, wanted_by_digest, wanted_of
from gpustack_models.workflows.pull import pull as pull_all
from gpustack_models.workflows.questions import Item, of_reference
from gpustack_models.workflows.resolve import Resolution


@dataclass(frozen=True, slots=True)
class Job:
    """How to pull: where to, how full the disk may get, how much at once, which peers first, whether backoffs count."""

    out: Output
    root: Path
    watermarks: Watermarks
    limits: Limits
    peers: tuple[str, ...] = ()
    now: bool = False


def resolve(
    job: Job, references: Sequence[str], patterns: Patterns | None, expected: str | None, ask: Asking
) -> list[Wanted | GsmError]:
    """What each reference wants. A whole digest is its own answer; a hub is asked about any other."""
    asked = [text for text in references if not is_digest(text)]
    items = [_pullable(of_reference(text, patterns, expected)) for text in asked]
    found, hubs = asking.look_up_with_hubs(job.out, items, ask) if items else ([], {})
    answers = iter(found)
    return [
        wanted_by_digest(text, text, job.peers)
        if is_digest(text)
        else _wanted(job, text, next(answers), hubs, expected)
        for text in references
    ]


def _pullable(item: Item | GsmError) -> Item | GsmError:
    if isinstance(item, GsmError) or isinstance(item.ref, HubRef):
        return item
    return usage(f"{item.name} cannot be pulled; only a hub's repository can", f"write {FORMS[0]} or {FORMS[1]}")


def _wanted(
    job: Job, text: str, found: Found | GsmError, hubs: dict[HubKind, Hub], expected: str | None
) -> Wanted | GsmError:
    if isinstance(found, GsmError):
        # Only silence is anchored around: a hub that answered, even with a refusal, is taken at its word.
        if found.reason is Reason.SOURCE_UNAVAILABLE and expected:
            job.out.warn(f"{found.message}; going by {expected} alone")
            return wanted_by_digest(text, expected, job.peers)
        return found
    assert isinstance(found.result, Resolution)  # noqa: S101 - nothing but a hub's repository was asked for
    return wanted_of(text, found.result, hubs[found.result.ref.kind], job.peers)


def run(job: Job, wanted: Sequence[Wanted | GsmError]) -> list[Pulled | GsmError]:
    """Pull what is wanted; errors among it stay. The results are in its order."""
    good = [each for each in wanted if isinstance(each, Wanted)]

    def all_here(store: Store) -> bool:
        return all(store.lookup(each.digest) for each in good)

    if not good:
        return list(_merged(wanted, iter(())))
    writer = access.write_unless(job.out, job.root, "gsm node-store pull", all_here)
    if writer is None:
        with Store.open(job.root) as store:
            return list(_merged(wanted, iter([_hit(store, each) for each in good])))
    with writer:
        return list(_merged(wanted, iter(run_with(job, writer, good))))


def run_with(job: Job, writer: Writer, wanted: Sequence[Wanted]) -> list[Pulled | GsmError]:
    """Pull with a writer that is open already."""
    started = time.monotonic()
    with _materializer(job, writer) as materializer, _Progress(job.out) as progress:
        results = pull_all(materializer, wanted, progress.tell, now=job.now)
    for result in results:
        if isinstance(result, Pulled):
            job.out.note(_told(result, time.monotonic() - started))
    return results


@contextmanager
def _materializer(job: Job, writer: Writer) -> Iterator[Materializer]:
    options = from_environment(os.environ)
    transfer = Transfer(job.limits, options, trust=lambda: trust(options.ca_bundle))
    materializer = Materializer(writer, transfer, job.watermarks)
    try:
        yield materializer
    finally:
        if not materializer.close():
            writer.abandon()
        transfer.close()


def _hit(store: Store, wanted: Wanted) -> Pulled | GsmError:
    if tree := store.lookup(wanted.digest):
        return Pulled(wanted, tree)
    return GsmError(Reason.NOT_FOUND, f"{wanted.digest} was removed meanwhile", hint="pull it again")


def _merged(wanted: Sequence[Wanted | GsmError], results: Iterator[Pulled | GsmError]) -> Iterator[Pulled | GsmError]:
    for each in wanted:
        yield each if isinstance(each, GsmError) else next(results)


def _told(result: Pulled, seconds: float) -> str:
    name, size = result.wanted.name, common.brief(result.tree.manifest.size)
    if not result.fetched:
        return f"{name}: {size}, all of it here already"
    return f"{name}: {size}, of which {common.brief(result.fetched)} came from the {result.source} in {seconds:.1f} s"


class _Progress:
    """One bar over all downloads, begun when it is known how much is missing."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._stack = ExitStack()
        self._advance: Advance | None = None
        self._done: dict[str, int] = {}

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def tell(self, downloads: list[Download]) -> None:
        if self._advance is None:
            if not downloads or any(download.phase in ("Listing", "Reserving") for download in downloads):
                return
            missing = sum(download.size - download.downloaded for download in downloads)
            if not missing:
                return
            names = downloads[0].name if len(downloads) == 1 else f"{len(downloads)} models"
            self._out.note(f"{names}: {common.brief(missing)} left to fetch")
            self._advance = self._stack.enter_context(self._out.progress("fetching", missing))
            self._done = {download.digest: download.downloaded for download in downloads}
        for download in downloads:
            before = self._done.get(download.digest, download.downloaded)
            self._done[download.digest] = download.downloaded
            self._advance(download.downloaded - before)
