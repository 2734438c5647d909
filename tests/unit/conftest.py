"""Owns the unit tier's one rule: values only.

Refuses sockets: opening one fails the test that did it.
"""

from __future__ import annotations

import socket

import pytest


@pytest.fixture(autouse=True)
def _no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(socket.socket):
        def __init__(self, *arguments: object, **options: object) -> None:
            raise AssertionError("a unit test opened a socket")

    monkeypatch.setattr(socket, "socket", Refused)
