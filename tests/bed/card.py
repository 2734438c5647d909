"""Owns a bed's card: the file that says what a folder is, for whoever cleans it after a crash.

Refuses to guess: a folder without a readable card has no mark, and only its records are acted on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .processes import Identity


@dataclass(frozen=True)
class Card:
    """Mark of the bed's processes, its port block, its number of nodes, the process that it lives for (if any)."""

    mark: str
    block: int
    nodes: int
    owner: Identity | None = None

    def write(self, path: Path) -> None:
        """Write by rename: a card is whole or not there."""
        owner = self.owner and {"pid": self.owner.pid, "start": self.owner.start, "boot": self.owner.boot}
        new = path.with_suffix(".new")
        new.write_text(json.dumps({"mark": self.mark, "block": self.block, "nodes": self.nodes, "owner": owner}))
        new.replace(path)


def read_card(path: Path) -> Card | None:
    """The card in ``path``, or None."""
    try:
        content: dict[str, Any] = json.loads(path.read_text())
        owner = content["owner"]
        return Card(content["mark"], content["block"], content["nodes"], owner and Identity(**owner))
    except (OSError, ValueError, KeyError, TypeError):
        return None
