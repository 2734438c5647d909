"""Owns that 20,000 files of 1 KiB come, are published, scrubbed and removed like any others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_models.core.location import Location
from gpustack_models.core.manifest import Entry, Manifest
from gpustack_models.store import plan as planning
from gpustack_models.store.attempts import Offer
from gpustack_models.store.collect import collect
from gpustack_models.store.scrub import scrub
from gpustack_models.store.sources import Origin
from gpustack_models.store.writer import Writer
from gpustack_models.workflows.pull import Wanted
from tests.integration.store import smallserver
from tests.integration.store.disk import TEST, check_visible, name_of
from tests.integration.store.hubs import fetch, store_at

NUMBER = 20_000


class Numbered:
    """Files by number, at a server of a test."""

    origin = Origin.HUB

    def __init__(self, port: str) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def locate(self, path: str) -> Location:
        return Location(f"{self._url}/{int(path.rpartition('/')[2])}", self._url)


@pytest.fixture
def port() -> Iterator[str]:
    with subprocess.Popen([sys.executable, smallserver.__file__], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def test_twenty_thousand_files(root: Path, port: str) -> None:
    files = [(f"{number // 250:03}/{number:05}", smallserver.content(number)) for number in range(NUMBER)]
    manifest = Manifest.of(Entry(path, len(data), name_of(data)) for path, data in files)
    offer = Offer("hub", Origin.HUB, lambda: manifest, Numbered(port))
    with store_at(root) as store:
        answer = fetch(store, Wanted("many", manifest.digest, (offer,)))
        assert answer.tree is not None, answer.error
        assert answer.fetched == manifest.size
    assert check_visible(root) == 1
    with Writer.start(root, TEST) as writer:
        found = scrub(writer)
        assert (found.passed, found.files) == (True, NUMBER)
        collect(writer, lambda snapshot: planning.removal_of(snapshot, manifest.digest))
        assert list(writer.blobs.all()) == []
    assert check_visible(root) == 0
