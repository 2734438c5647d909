"""Owns how far the running downloads are: their rates, and the small file that other processes read them from.

Refuses to be durable: what it says is worth something only while its writer lives.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from gpustack_models.errors import GsmError
from gpustack_models.store import plainjson
from gpustack_models.store.handles import Dir

NAME = "running"
_MAX_BYTES = 4 << 20
#: A rate is over the last seconds only: what was kept from an earlier attempt is no speed.
WINDOW_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Download:
    """One running download: bytes verified of how many, bytes per second, since when (wall clock), from what."""

    digest: str
    name: str
    downloaded: int
    size: int
    rate: float
    since: float
    source: str
    phase: str

    @property
    def seconds_left(self) -> float | None:
        """Seconds until it is there at the present rate; None when that cannot be said."""
        return (self.size - self.downloaded) / self.rate if self.rate > 0 else None


class Rate:
    """Bytes per second over a sliding window; progress that goes back restarts it."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, now: float, total: int) -> None:
        """Note that `total` bytes are there at `now` (monotonic seconds)."""
        if self._samples and total < self._samples[-1][1]:
            self._samples.clear()
        self._samples.append((now, total))
        while len(self._samples) > 2 and now - self._samples[0][0] > WINDOW_SECONDS:
            self._samples.popleft()

    @property
    def value(self) -> float:
        """Bytes per second; 0 before two samples."""
        if len(self._samples) < 2:
            return 0.0
        (begin, first), (end, last) = self._samples[0], self._samples[-1]
        return (last - first) / (end - begin) if end > begin else 0.0


def write(ledger: Dir, downloads: list[Download]) -> None:
    """Say what is under way. Raises OSError."""
    body = {"format": 1, "downloads": [asdict(download) for download in downloads]}
    ledger.write(NAME, json.dumps(body).encode(), sync=False)


def read(ledger: Dir) -> list[Download]:
    """What the writer said last; empty when nothing can be read. Whether it lives, only the lock tells."""
    try:
        body: Any = plainjson.parse(ledger.read(NAME, _MAX_BYTES))
        if body["format"] != 1:
            return []
        return [_download(**each) for each in body["downloads"]]
    except (OSError, GsmError, ValueError, KeyError, TypeError):
        return []


def _download(
    *, digest: Any, name: Any, downloaded: Any, size: Any, rate: Any, since: Any, source: Any, phase: Any
) -> Download:
    if not all(isinstance(text, str) for text in (digest, name, source, phase)):
        raise TypeError("a text is none")
    return Download(digest, name, int(downloaded), int(size), float(rate), plainjson.moment(since), source, phase)
