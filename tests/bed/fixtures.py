"""Owns what cluster and node tests are handed: a bed per session, a namespace per test, evidence when one fails.

Refuses to skip under CI=true, and to leave anything: a killed session's bed goes when the next one starts.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pytest

from . import cleaning, machine, report
from .bed import OWN, Bed, Options
from .cache import Cache
from .errors import BedError
from .kubectl import Kubectl
from .launch import wait_until
from .layout import home
from .processes import current

_SINCE = pytest.StashKey[Mapping[str, int]]()
_BEDS: list[Bed] = []


@dataclass(frozen=True)
class Namespace:
    """A test's own namespace: kubectl as the administrator in it, kubeconfigs for its tenant."""

    name: str
    bed: Bed
    kubectl: Kubectl

    def tenant(self, role: str = "edit") -> Kubectl:
        """kubectl as a person who may act in this namespace alone."""
        return self.kubectl.acting_as(self.bed.identities.tenant(self.name, role))


def session_bed(request: pytest.FixtureRequest, tier: str, options: Options) -> Iterator[Bed]:
    """A bed for a session's fixture to yield from; goes with the session, or with the next one's start."""
    environment = dict(os.environ)
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")

    def tell(line: str) -> None:
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(line)

    lacking = machine.lacks(tier, machine.look(environment, tier, Cache(environment)))
    if lacking and environment.get("CI") == "true":
        pytest.fail(lacking, pytrace=False)
    if lacking:
        pytest.skip(lacking)
    cleaning.sweep(home(environment), OWN)
    root = home(environment) / f"t{os.getpid()}-{tier[0]}"
    bed = Bed(root, replace(options, owner=current()), environment, tell)
    try:
        bed.up()
    except BedError as error:
        pytest.fail(str(error), pytrace=False)
    tell(f"{tier} bed: " + ", ".join(f"{what} {seconds:.1f} s" for what, seconds in bed.timings.items()))
    _BEDS.append(bed)
    try:
        yield bed
    finally:
        _BEDS.remove(bed)
        bed.down()


@pytest.fixture
def namespace(bed: Bed, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """A namespace named after the test, ready for Pods, deleted afterwards."""
    slug = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    name = f"{slug}-{secrets.token_hex(3)}"
    bed.kubectl("create", "namespace", name)
    made = Namespace(name, bed, bed.kubectl.within(name))
    wait_until(lambda: made.kubectl.exists("serviceaccount", "default"), 60, f"{name}'s default ServiceAccount", 0.05)
    yield made
    bed.kubectl("delete", "namespace", name, "--wait=false")


def mark_logs(item: pytest.Item) -> None:
    """To be called when a test is set up: what logs say from here on is the test's."""
    item.stash[_SINCE] = {name: size for bed in _BEDS for name, size in report.sizes(bed).items()}


def add_evidence(item: pytest.Item, outcome: pytest.TestReport) -> None:
    """To be called with a test's report: a failure gets what the bed knows."""
    if not outcome.failed:
        return
    used = getattr(item, "funcargs", {})
    bed, space = used.get("bed"), used.get("namespace")
    if isinstance(bed, Bed) and bed in _BEDS:
        kubectl = space.kubectl if isinstance(space, Namespace) else None
        outcome.sections.extend(report.sections(bed, item.stash.get(_SINCE, {}), kubectl))
