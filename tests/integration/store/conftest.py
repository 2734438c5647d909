"""Owns the store's fixtures: a root on a real disk, and a writer on it with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_models.store.writer import Writer
from tests.integration.store.disk import TEST, MovedClock


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def writer(root: Path, clock: MovedClock) -> Iterator[Writer]:
    with Writer.start(root, TEST, clock) as writer:
        yield writer
