"""Owns the rules that roles and Instances share: mounts, what they hide, a volume's sources, the keys of labels.

Refuses to follow links: a path is judged as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpustack_models.core import forms, paths
from gpustack_models.core.kubetypes import SOURCES
from gpustack_models.core.paths import Key, Path
from gpustack_models.core.rules.cel import form, path
from gpustack_models.core.rules.model import Case, Cel, Problem


def plain_path(at: str) -> Cel:
    """A mount path is absolute, without `..` and `:`, and is not the root."""
    return form(at, forms.MOUNT_PATH)


def unique_paths(at: str) -> Cel:
    """No two volumes of a list are mounted at one path (core/v1 compares paths as they are written)."""
    return Cel(
        path(at),
        "self.all(one, self.exists_one(other, other.mountPath == one.mountPath))",
        lambda volumes: len({volume["mountPath"] for volume in volumes}) == len(volumes),
        "two volumes are mounted at one path",
        locate=_second,
    )


def _second(volumes: list[dict[str, Any]]) -> Path:
    mounts = [volume["mountPath"] for volume in volumes]
    return (next(index for index, mount in enumerate(mounts) if mount in mounts[:index]), "mountPath")


def label_keys(*members: str) -> Callable[[Case[Any]], Iterator[Problem]]:
    """A check that every key of some maps of labels is one. CEL would count a key's length as without bound."""

    def check(case: Case[Any]) -> Iterator[Problem]:
        for member in members:
            for found, labels in paths.each(case.value, path(member)):
                bad = (key for key in labels if not forms.LABEL_KEY.fits(key))
                yield from (Problem((*found, Key(key)), f"must be {forms.LABEL_KEY.words}") for key in bad)

    return check


def at_most_one_source(at: str) -> Cel:
    """A volume has at most one source; without one it is an emptyDir, as in core/v1."""
    return Cel(
        path(at),
        f"{_count(SOURCES)} <= 1",
        lambda volume: _number(volume, SOURCES) <= 1,
        "a volume has one source",
    )


def one_source(at: str, *more: str) -> Cel:
    """A volume has exactly one source, `more` being sources beside those of core/v1."""
    members = (*more, *SOURCES)
    return Cel(
        path(at),
        f"{_count(members)} == 1",
        lambda volume: _number(volume, members) == 1,
        f"a volume has exactly one source: {', '.join(more)}, or one of core/v1 Volume",
    )


def _count(members: tuple[str, ...]) -> str:
    return "[" + ", ".join(f"has(self.{member})" for member in members) + "].filter(given, given).size()"


def _number(volume: dict[str, Any], members: tuple[str, ...]) -> int:
    return sum(member in volume for member in members)
