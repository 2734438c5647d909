"""Owns the clients of these tests: the product's own, with a clock whose sleeps are written down and not slept.

Refuses the network beyond loopback.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from gpustack_models.core.location import Location
from gpustack_models.errors import GsmError
from gpustack_models.hubs.http import Answer, HttpClient, HttpOptions, Pace, Request

NAME = "hf://org/repo@main"
PLANTED = "hf_planted_token_0123456789"


@dataclass
class Sleeps:
    """The pauses that a client made between attempts."""

    slept: list[float] = field(default_factory=list)

    def pace(self, jitter: float = 1.0) -> Pace:
        return Pace(sleep=self.slept.append, jitter=lambda: jitter)


def ask(url: str, options: HttpOptions | None = None, *, home: str = "", pace: Pace | None = None) -> Answer:
    """Send one GET with a token whose home is `home` (the URL's own server when empty)."""
    endpoint = home or "/".join(url.split("/")[:3])
    location = Location(url, endpoint, {"Authorization": f"Bearer {PLANTED}"})
    with HttpClient(options or HttpOptions(retries=0), pace or Sleeps().pace()) as client:
        return client.send(Request(NAME, location))


def failing(url: str, options: HttpOptions | None = None, *, home: str = "", pace: Pace | None = None) -> GsmError:
    """The same, for a request that must fail."""
    with pytest.raises(GsmError) as caught:
        ask(url, options, home=home, pace=pace)
    assert PLANTED not in f"{caught.value.message}{caught.value.hint}"
    assert caught.value.message.isprintable()
    return caught.value
