"""Owns the JSON that a KV connector's options carry: the deployment's own keys below the operator's.

Refuses a key of the deployment where the operator has one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from gpustack_models.core.engines.expansion import literal


def merged(config: Mapping[str, object], owned: Mapping[str, object]) -> dict[str, object]:
    """The connector's own keys, with the operator's on top (workloads.md: `config` never overrides them)."""
    return {**config, **owned}


def encoded(value: Mapping[str, object]) -> str:
    """The JSON argument: keys sorted, so that equal settings make equal Pods; nothing left for kubelet to expand."""
    return literal(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
