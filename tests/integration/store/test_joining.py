"""Owns the law of joining: whoever joined an attempt has its own offer tried, however late it came."""

from __future__ import annotations

import random
import time
from functools import partial
from pathlib import Path

from gpustack_models.core.location import Location
from gpustack_models.core.manifest import Algorithm, Entry, FileDigest, Manifest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.attempts import Offer
from gpustack_models.store.sources import Origin
from tests.integration.store.hubs import store_at

EMPTY = FileDigest(Algorithm.GITSHA1, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")


class Nowhere:
    """A source that is never asked: an empty file needs no request."""

    name = "nowhere"
    origin = Origin.HUB

    def locate(self, path: str) -> Location:
        raise AssertionError(f"{path} was asked for")


def refused(after: float) -> Manifest:
    time.sleep(after)
    raise GsmError(Reason.ACCESS_DENIED, "the first requester's repository does not exist or is not accessible")


def _given(manifest: Manifest) -> Manifest:
    return manifest


def test_who_joined_is_not_answered_with_the_refusal_of_another(root: Path) -> None:
    moments = random.Random(7)
    joined = 0
    with store_at(root) as store:
        for number in range(120):
            manifest = Manifest.of([Entry(f"{number}", 0, EMPTY)])
            store.ask(manifest.digest, [Offer("a", Origin.HUB, partial(refused, moments.uniform(0, 0.004)), Nowhere())])
            time.sleep(moments.uniform(0, 0.004))
            answer = store.ask(manifest.digest, [Offer("b", Origin.HUB, partial(_given, manifest), Nowhere())])
            if answer.attempt is None:  # the refusal was decided: it is told, or to be asked for again
                continue
            joined += 1
            while not answer.final:
                answer = store.wait(answer, 1)
            assert answer.tree is not None, (number, answer.error)
    assert joined > 10, "nobody joined in time"
