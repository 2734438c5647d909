"""Owns how a CEL rule is made together with its Python twin, so that the two are written once.

Refuses expressions of one side only.
"""

from __future__ import annotations

from typing import Any

from gpustack_models.core.forms import Form
from gpustack_models.core.rules.model import Cel


def form(at: str, of: Form, *, words: str = "") -> Cel:
    """The text at `at` has a form. `at` is dotted, with `[]` for each item."""
    return Cel(path(at), of.cel(), of.fits, words or f"must be {of.words}")


def frozen(parent: str, member: str, message: str) -> Cel:
    """A member never changes, is never added and never removed."""
    has = f"has(self.{member})"
    return Cel(
        path(parent),
        f"{has} == has(oldSelf.{member}) && (!{has} || self.{member} == oldSelf.{member})",
        lambda new, old: (member in new, new.get(member)) == (member in old, old.get(member)),
        message,
        (member,),
        transition=True,
    )


def path(dotted: str) -> tuple[str, ...]:
    """A dotted path as steps."""
    return tuple(dotted.split(".")) if dotted else ()


def text_at(value: Any, *steps: str) -> str:
    """A text below a map, or an empty one."""
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
