"""Owns values as YAML text for stdout, such that kubectl reads every text back as a text.

Refuses reading; documents given by a person are read in `gpustack_models.core.documents`.
"""

from __future__ import annotations

from typing import Any

import yaml

from gpustack_models.core.scalars import is_text

_TEXT = "tag:yaml.org,2002:str"


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data: Any) -> bool:
        return True

    def choose_scalar_style(self) -> Any:
        style = super().choose_scalar_style()
        value, tag = getattr(self.event, "value", ""), getattr(self.event, "tag", None)
        if tag == _TEXT and not style and not is_text(value):
            style = "'"
        # Only between quotes can a letter be escaped; and an apostrophe would have to be doubled between apostrophes.
        escaped = not value.replace("\n", "").isprintable()
        return '"' if escaped or (style == "'" and "'" in value) else style


def dump(value: Any) -> str:
    """A value as one YAML document in block style, keys in the order given."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=False, sort_keys=False, allow_unicode=True, width=1 << 20
    )
    return text if text.replace("\n", "").isprintable() else "".join(map(_safe, text))


def _safe(letter: str) -> str:
    # What YAML takes as it is and a terminal obeys or hides, such as a mark that turns the direction of writing.
    return letter if letter.isprintable() or letter == "\n" else f"\\U{ord(letter):08X}"
