"""Owns what every tier shares: the closing lines, and that nothing is skipped under CI.

Refuses fixtures of one tier; those live beside its tests.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test is timed: on a busy machine a slow example, or a slow drawing of one, is no finding.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

TIERS = ("unit", "integration", "cluster", "node")
_ROOT = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The cheap tiers speak first: a broken core should not wait for a cluster to start.
    items.sort(key=lambda item: TIERS.index(tier_of(item.path)))


def tier_of(path: Path) -> str:
    """The tier of a test file: the first folder below tests/."""
    return path.relative_to(_ROOT).parts[0]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts = {outcome: Counter[str]() for outcome in ("passed", "failed", "error", "skipped")}
    reasons: Counter[str] = Counter()
    for outcome, tiers in counts.items():
        for report in terminalreporter.stats.get(outcome, []):
            tiers[Path(report.nodeid).parts[1]] += 1
            if outcome == "skipped" and isinstance(report.longrepr, tuple):
                reasons[report.longrepr[2].removeprefix("Skipped: ")] += 1
    terminalreporter.section("tiers")
    for tier in TIERS:
        terminalreporter.line(f"{tier}: " + ", ".join(f"{counts[outcome][tier]} {outcome}" for outcome in counts))
    for reason, number in sorted(reasons.items()):
        terminalreporter.line(f"skipped {number}: {reason}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and exitstatus == 0 and reporter and reporter.stats.get("skipped"):
        reporter.line("\nunder CI=true nothing may be skipped", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
