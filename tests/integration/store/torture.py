"""Owns the kill -9 run: pulls and removals killed at random instants, then every visible tree re-hashed by hashlib
alone, and a new pull that must finish. `make torture` runs 250 of them and prints a line for each.

Refuses to call a run passed in which anything visible was not whole, or a pull afterwards did not end well.
"""

from __future__ import annotations

import argparse
import glob
import os
import random
import select
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from gpustack_models.hub_server import LocalHub, ServeOptions
from tests.integration.conftest import write_tree
from tests.integration.store.disk import check_visible, visible
from tests.integration.store.hubs import bytes_of
from tests.integration.store.zygote import Zygote

LFS = "*.safetensors filter=lfs diff=lfs merge=lfs -text\n"
REPOSITORIES = ("org/base", "org/tuned", "org/other")
#: How a kill is aimed: at any instant of the whole command, or at the moment that something of this name appears.
AIMS = ("", "", "", "partial/*", "partial/sha256-*", "blobs/*/*/*", "trees/.staging-*", "trees/.staging-*/*")


@dataclass
class Tally:
    """What happened, in counts."""

    kills: int = 0
    late: int = 0
    checked: int = 0
    pulls: int = 0
    left: Counter[str] = field(default_factory=Counter)


def serve(folder: Path, files: int = 12) -> None:
    """Three small repositories that share most of their files."""
    shared = {f"shared/{number}.json": f'{{"shared": {number}}}' for number in range(files)}
    weights = bytes_of(2 << 20, "weights")
    for number, name in enumerate(REPOSITORIES):
        own = {f"own/{name[4:]}-{each}.txt": f"{name} {each}" for each in range(4)}
        large = weights if number < 2 else bytes_of(1 << 20, "other")
        write_tree(folder / name, {".gitattributes": LFS, "model.safetensors": large, **shared, **own})


class Torture:
    """Runs on one local hub; each on a store of its own."""

    def __init__(self, work: Path, hub: LocalHub, zygote: Zygote, seed: int, say: Callable[[str], None]) -> None:
        self.tally = Tally()
        self._work = work
        self._chance = random.Random(seed)
        self._say = say
        self._store = work / "store"
        self._environment = {
            "HF_ENDPOINT": hub.url,
            "MODELSCOPE_ENDPOINT": hub.url,
            "GSM_STORE": str(self._store),
            "HOME": str(work),
        }
        self._zygote = zygote
        self._usual = self._measured()

    def run(self, number: int) -> None:
        """One store: some commands killed, each followed by a look; then a pull that must finish."""
        shutil.rmtree(self._store, ignore_errors=True)
        told = []
        if self._chance.random() < 0.3:
            assert self._finished("pull", *REPOSITORIES) == 0
        for _ in range(self._chance.choice((1, 1, 2, 3))):
            told.append(self._killed())
            self.tally.checked += check_visible(self._store) if (self._store / "trees").is_dir() else 0
        wanted = self._chance.sample(REPOSITORIES, 2)
        began = time.monotonic()
        status = self._finished("pull", *wanted)
        assert status == 0, f"run {number}: {self._zygote.err.read_text()}"
        self.tally.pulls += 1
        seconds = time.monotonic() - began
        there = check_visible(self._store)
        self.tally.checked += there
        assert there >= 2
        for folder in ("partial", "trash"):
            left = [name for name in os.listdir(self._store / folder) if not name.endswith(".manifest")]
            assert folder == "partial" or not left, left
        assert not [name for name in os.listdir(self._store / "trees") if len(name) != 64]
        self._say(f"run {number}: {'; '.join(told)}; a new pull finished in {seconds:.2f} s, {there} trees are right")

    def _killed(self) -> str:
        there = visible(self._store) if (self._store / "trees").is_dir() else []
        command: tuple[str, ...] = ("rm", self._chance.choice(there or [""]))
        if not there or self._chance.random() < 0.5:
            command = ("pull", *self._chance.sample(REPOSITORIES, self._chance.choice((1, 2, 3))))
        aim = self._chance.choice(AIMS if command[0] == "pull" else ("", "trash/*"))
        longest = 0.004 if aim else self._usual * (1.1 if command[0] == "pull" else 0.2)
        delay = self._chance.uniform(0, longest)
        before = self._there(aim)
        began = time.monotonic()
        process = os.pidfd_open(self._zygote.start(self._environment, "node-store", *command))
        while aim and not self._there(aim) - before and not select.select([process], [], [], 0)[0]:
            pass
        time.sleep(delay)
        with suppress(ProcessLookupError):  # by a handle: the number of an ended one may be another's already
            signal.pidfd_send_signal(process, signal.SIGKILL)
        os.close(process)
        at = time.monotonic() - began
        status = self._zygote.end()
        if status != -signal.SIGKILL:
            assert status == 0, self._zygote.err.read_text()
            self.tally.late += 1
        else:
            self.tally.kills += 1
            self._note_what_is_left()
        how = f"killed after {1000 * at:.0f} ms" if status else "ended before the kill"
        return f"{command[0]} {how}" + (f" (at {aim})" if aim else "")

    def _there(self, aim: str) -> set[str]:
        # Not Path.glob, which fails when a folder goes while it looks.
        return set(glob.glob(f"{self._store}/{aim}")) if aim else set()

    def _note_what_is_left(self) -> None:
        if not (self._store / "format").exists():
            self.tally.left["no store yet"] += 1
            return
        marks = {
            "a staged tree": "trees/.staging-*",
            "files under way": "partial/sha256-*",
            "small files under way": "partial/gitsha1-*",
            "temporary files": "**/.tmp-*",
            "something in the trash": "trash/*",
            "a visible tree": "trees/[0-9a-f]*",
        }
        for what, pattern in marks.items():
            self.tally.left[what] += bool(next(self._store.glob(pattern), None))

    def _finished(self, *command: str) -> int:
        return self._zygote.run(self._environment, "node-store", *command)

    def _measured(self) -> float:
        """Seconds that a whole pull takes here: the median of three."""
        times = []
        for _ in range(3):
            shutil.rmtree(self._store, ignore_errors=True)
            began = time.monotonic()
            assert self._finished("pull", *REPOSITORIES) == 0, self._zygote.err.read_text()
            times.append(time.monotonic() - began)
        return sorted(times)[1]


@contextmanager
def torture(work: Path, seed: int, say: Callable[[str], None]) -> Iterator[Torture]:
    """A hub, a zygote, and a place for stores."""
    serve(work / "repositories")
    with LocalHub(ServeOptions(work / "repositories")) as hub, Zygote(work) as zygote:
        yield Torture(work, hub, zygote, seed, say)


def summary(tally: Tally, runs: int, seed: int) -> str:
    left = ", ".join(f"{what} {count} times" for what, count in tally.left.most_common())
    return (
        f"{runs} runs (seed {seed}): {tally.kills} commands killed, {tally.late} ended before their kill; "
        f"{tally.pulls} pulls finished afterwards; {tally.checked} visible trees re-hashed, all right. "
        f"The kills left: {left}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=250)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gsm-torture-") as work:
        with torture(Path(work), arguments.seed, lambda text: print(text, flush=True)) as one:
            for number in range(1, arguments.runs + 1):
                one.run(number)
        print(summary(one.tally, arguments.runs, arguments.seed), flush=True)


if __name__ == "__main__":
    main()
