"""Owns paths into an object: printing them as Kubernetes does, finding what stands at them, comparing old with new.

Refuses to judge what it finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Step = str | int
Path = tuple[Step, ...]

#: The keys of each keyed list, by the list's pattern.
Keys = Mapping[tuple[str, ...], tuple[str, ...]]

#: Stands for every item of a list, or every member of a map, in a pattern of a path.
EACH = "[]"


class Key(str):
    """A key of a map whose keys are not fields: a label's name, a resource's."""

    __slots__ = ()


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]|\[([^\]]*)\]")


def text(path: Path) -> str:
    """A path as Kubernetes prints it: `spec.roles[0].labels[app.kubernetes.io/name]`."""
    printed = ""
    for step in path:
        if isinstance(step, int):
            printed += f"[{step}]"
        elif not isinstance(step, Key) and _PLAIN.fullmatch(step):
            printed += f".{step}" if printed else step
        else:
            printed += f"[{step}]"
    return printed


def parse(printed: str) -> Path:
    """A printed path read back."""
    return tuple(int(index) if index else name or key for name, index, key in _STEP.findall(printed))


def each(value: Any, pattern: tuple[str, ...]) -> Iterator[tuple[Path, Any]]:
    """Every value that stands at a pattern, with its path. What is not written is not found."""
    found: list[tuple[Path, Any]] = [((), value)]
    for step in pattern:
        found = [((*path, name), part) for path, whole in found for name, part in _parts(whole, step)]
    yield from found


def get(value: Any, path: Path) -> Any:
    """What stands at a path, or None."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def correlated(new: Any, old: Any, path: Path, keys: Keys) -> Any:
    """What stood in `old` where `path` is in `new`, or None.

    Items of a list are the same when their keys are (`keys`: by the list's pattern); items of other lists never are.
    """
    pattern: tuple[str, ...] = ()
    for step in path:
        if isinstance(step, int):
            names = keys.get(pattern)
            new = get(new, (step,))
            if names is None or not isinstance(old, list) or not isinstance(new, dict):
                return None
            old = next((item for item in old if all(item.get(name) == new.get(name) for name in names)), None)
            pattern += (EACH,)
        else:
            new, old = get(new, (step,)), get(old, (step,))
            pattern += (step,)
        if old is None:
            return None
    return old


def _parts(value: Any, step: str) -> list[tuple[Step, Any]]:
    if step != EACH:
        return [(step, value[step])] if isinstance(value, dict) and step in value else []
    if isinstance(value, list):
        return list(enumerate(value))
    return [(Key(name), part) for name, part in value.items()] if isinstance(value, dict) else []
