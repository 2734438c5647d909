"""Owns what the store's tests need of a hub: content resolved with the real client, offers of it, and a store at work.

Refuses stand-ins: the hub answers on loopback, the transfer is the real one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpustack_models.core.manifest import Manifest
from gpustack_models.core.refs import HubKind, HubRef
from gpustack_models.hub_server import LocalHub, Request
from gpustack_models.hub_server import Origin as HubOrigin
from gpustack_models.hubs.http import HttpOptions
from gpustack_models.hubs.open import open_hub
from gpustack_models.hubs.tokens import Token
from gpustack_models.store.attempts import Offer
from gpustack_models.store.capacity import Watermarks
from gpustack_models.store.clock import Clock
from gpustack_models.store.materialize import Answer, Materializer
from gpustack_models.store.sources import Limits, Origin
from gpustack_models.store.transfer import Retry, Transfer
from gpustack_models.store.writer import Writer
from gpustack_models.workflows.pull import HubSource, Wanted, wanted_of
from gpustack_models.workflows.resolve import resolve
from tests.integration.store.disk import TEST

HF, MS = HubKind.HUGGING_FACE, HubKind.MODEL_SCOPE
FULL = Watermarks(100, 99)
#: The waits of a real retry, a hundred times shorter.
QUICK = Retry(budget=4, base=0.005, cap=0.05, patience=5)


def wanted(hub: LocalHub, repository: str, kind: HubKind = HF, token: str = "", revision: str = "") -> Wanted:
    """What a person who pulls it wants."""
    ref = HubRef(kind, repository, revision or {HF: "main", MS: "master"}[kind])
    with open_hub(kind, hub.url, Token(token, "the test") if token else None) as client:
        return wanted_of(str(ref), resolve(client, ref), client)


def offer(hub: LocalHub, want: Wanted, repository: str, token: str, key: str) -> Offer:
    """The offer of another requester: its own repository and its own token, the listing asked with them too."""
    commit = want.pinned.rpartition("@")[2]
    ref = HubRef(HF, repository, commit)

    def listed() -> Manifest:
        with open_hub(HF, hub.url, Token(token, "the test") if token else None) as client:
            return resolve(client, ref).manifest

    with open_hub(HF, hub.url, Token(token, "the test") if token else None, HttpOptions(retries=0)) as client:
        return Offer(key, Origin.HUB, listed, HubSource(client, ref))


@contextmanager
def store_at(
    root: Path, clock: Clock | None = None, watermarks: Watermarks = FULL, limits: Limits | None = None
) -> Iterator[Materializer]:
    """A store that fetches, as the command line puts it together."""
    with Writer.start(root, TEST, clock) as writer:
        transfer = Transfer(limits or Limits(stall_seconds=2), retry=QUICK)
        materializer = Materializer(writer, transfer, watermarks)
        try:
            yield materializer
        finally:
            assert materializer.close(), "a thread did not end"
            transfer.close()


def fetch(materializer: Materializer, want: Wanted, *, now: bool = False) -> Answer:
    """Ask, and wait for the end."""
    answer = materializer.ask(want.digest, want.offers, [want.pinned], now=now)
    while not answer.final:
        answer = materializer.wait(answer, 1)
        if answer.attempt is None and not answer.final:
            answer = materializer.ask(want.digest, want.offers)
    return answer


def content_requests(hub: LocalHub) -> list[str]:
    """The paths of the requests that brought bytes of files."""
    return [each.path for each in hub.requests if each.method == "GET" and each.sent and _is_content(each)]


def _is_content(request: Request) -> bool:
    if request.origin is HubOrigin.CDN:
        return True
    return request.status in (200, 206) and ("/resolve/" in request.path or request.path.endswith("/repo"))


def bytes_of(size: int, seed: str) -> bytes:
    """Content that no other seed gives, and that no filesystem makes smaller."""
    return random.Random(seed).randbytes(size)
