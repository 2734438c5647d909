"""Owns the progress bar on a terminal: rate and time left.

Refuses to be imported where nothing is shown; it costs rich.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from gpustack_models.cli.node_store.common import brief
from gpustack_models.cli.output import Advance


class _ByteRate(ProgressColumn):
    def render(self, task: Task) -> Text:
        # Rich's own column counts in powers of ten, beside a size in powers of two.
        return Text(f"{brief(task.speed or 0)}/s", style="progress.data.speed")


class _Rate(ProgressColumn):
    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0:.0f} {self._unit}/s", style="progress.data.speed")


@contextmanager
def bar(title: str, total: int | None, unit: str) -> Iterator[Advance]:
    """Show a bar on stderr while the block runs; it leaves no line behind. Yields what advances it."""
    done, rate = (
        (DownloadColumn(binary_units=True), _ByteRate()) if unit == "bytes" else (MofNCompleteColumn(), _Rate(unit))
    )
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        done,
        rate,
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task(title, total=total)
        yield lambda amount: progress.advance(task, amount)
