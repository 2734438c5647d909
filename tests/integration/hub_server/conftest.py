"""Owns one rule for the local hub's tests: a defect that the server logged fails the test that met it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_defect(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    broken = [record.getMessage() for record in caplog.get_records("call") if record.levelno >= logging.ERROR]
    assert not broken
