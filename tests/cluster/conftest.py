"""Owns the cluster tier's bed: a control plane without nodes, one per session.

Refuses nodes: what needs a kubelet belongs to the node tier.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from tests.bed import Bed, Options
from tests.bed.fixtures import add_evidence, mark_logs, namespace, session_bed

__all__ = ["namespace"]


@pytest.fixture(scope="session")
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    yield from session_bed(request, "cluster", Options(hub=True))


def pytest_runtest_setup(item: pytest.Item) -> None:
    mark_logs(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    outcome = yield
    add_evidence(item, outcome)
    return outcome
