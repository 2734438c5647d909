"""Owns that requesters, mounts, collections and scrubs at once never take anything from under a mount."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

from gpustack_models.hub_server import LocalHub
from gpustack_models.store import plan as planning
from gpustack_models.store.collect import collect
from gpustack_models.store.materialize import Answer, Materializer
from gpustack_models.store.records import Reference
from gpustack_models.store.scrub import scrub
from gpustack_models.workflows.pull import Wanted
from tests.integration.conftest import HubFactory, Publish
from tests.integration.store.disk import MovedClock, check_visible
from tests.integration.store.hubs import bytes_of, store_at, wanted

SECONDS = 6
REQUESTERS = 8


class Crowd:
    """Threads on one store, and what any of them saw go wrong."""

    def __init__(self, store: Materializer, wants: list[Wanted], clock: MovedClock) -> None:
        self.store, self.wants, self.clock = store, wants, clock
        self.writer = store._writer
        self.over = threading.Event()
        self.problems: list[str] = []
        self.mounts = 0
        self.removed = 0

    @property
    def enough(self) -> bool:
        """Whether mounts and collections met often enough to say something; a busy machine takes longer."""
        return self.mounts > 10 and self.removed > 3

    def request(self, number: int) -> None:
        """Ask, mount, read, unmount; again and again."""
        chance = random.Random(number)
        while not self.over.is_set():
            want = chance.choice(self.wants)
            answer = self.store.ask(want.digest, want.offers, now=True)
            while not answer.final and not self.over.is_set():
                answer = self.store.wait(answer, 0.2)
                if answer.attempt is None and not answer.final:
                    answer = self.store.ask(want.digest, want.offers, now=True)
            if answer.error:
                self.problems.append(str(answer.error))
            if answer.tree:
                self._mount(want.digest, f"/pods/{number}", chance)

    def _mount(self, digest: str, target: str, chance: random.Random) -> None:
        try:
            tree = self.writer.reference(Reference("csi", target, digest, self.clock.now()))
        except Exception as error:  # noqa: BLE001 - it may have been collected since; anything else is a problem
            if "is not published here" not in str(error):
                self.problems.append(repr(error))
            return
        for _ in range(3):
            for entry in tree.manifest.entries:
                if (tree.path / entry.path).stat().st_size != entry.size:
                    self.problems.append(f"{entry.path} of a mounted tree is not whole")
            time.sleep(chance.random() / 100)
        self.writer.release(target)
        self.mounts += 1

    def collect(self) -> None:
        """Ten minutes pass at every turn, and everything goes that may."""
        while not self.over.is_set():
            self.clock.wall += 600
            self.clock.uptime += 600
            done = collect(self.writer, lambda snapshot: planning.plan(snapshot, snapshot.usage.used))
            self.removed += len(done.removals)
            self.store.collect()
            time.sleep(0.01)

    def scrub(self) -> None:
        """Every byte, all the time."""
        while not self.over.is_set():
            if not (found := scrub(self.writer)).passed:
                self.problems.append(repr(found))


def test_everybody_at_once(root: Path, clock: MovedClock, publish: Publish, local_hub: HubFactory) -> None:
    shared = {f"shared/{number}.txt": f"shared {number}" for number in range(10)}
    for number in range(4):
        own = {f"own/{each}.txt": f"{number} {each}" for each in range(5)}
        publish(f"org/m{number}", {**shared, **own, "weights.bin": bytes_of(400_000, str(number % 2))})
    hub: LocalHub = local_hub()
    wants = [wanted(hub, f"org/m{number}") for number in range(4)]
    with store_at(root, clock) as store:
        crowd = Crowd(store, wants, clock)
        work = [lambda number=number: crowd.request(number) for number in range(REQUESTERS)]
        threads = [threading.Thread(target=each) for each in (*work, crowd.collect, crowd.scrub)]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        while (spent := time.monotonic() - began) < SECONDS or (spent < 10 * SECONDS and not crowd.enough):
            time.sleep(0.1)
        crowd.over.set()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert store.wait(Answer(), 0) == Answer()
    assert crowd.problems == []
    assert crowd.enough, (crowd.mounts, crowd.removed)
    check_visible(root)
