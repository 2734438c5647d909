"""Owns values as YAML text for stdout, such that kubectl reads every text back as a text.

Refuses reading; documents given by a person are read in `gpustack_models.core.documents`.
"""

from __future__ import annotations

import re
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data: Any) -> bool:
        return True

    def choose_scalar_style(self) -> Any:
        # An apostrophe would have to be doubled between apostrophes.
        style = super().choose_scalar_style()
        return '"' if style == "'" and "'" in getattr(self.event, "value", "") else style


# What kubectl's reader takes for a truth value or a number although PyYAML's does not: quoted, or it would change.
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]\Z"), list("yYnN"))
_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(?:\d+[eE][-+]?\d+|0[oO][0-7]+)\Z"), list("-+0123456789")
)


def dump(value: Any) -> str:
    """A value as one YAML document in block style, keys in the order given."""
    return yaml.dump(
        value, Dumper=_Dumper, default_flow_style=False, sort_keys=False, allow_unicode=True, width=1 << 20
    )
