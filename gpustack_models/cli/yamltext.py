"""Owns values as YAML text for stdout.

Refuses reading; documents given by a person are read in `gpustack_models.core`.
"""

from __future__ import annotations

from io import StringIO
from typing import Any

from ruamel.yaml import YAML


def dump(value: Any) -> str:
    """A value as one YAML document in block style, keys in the order given."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.representer.sort_base_mapping_type_on_output = False
    yaml.width = 4096
    text = StringIO()
    yaml.dump(value, text)
    return text.getvalue()
