"""Owns the manifests that a person saved: a canonical one, or a hub's listing, as bytes.

Refuses to ask anyone.
"""

from __future__ import annotations

from gpustack_models.core.manifest import HEADER, Manifest
from gpustack_models.core.patterns import Patterns


def manifest_of(data: bytes, name: str, patterns: Patterns | None = None) -> Manifest:
    """The manifest of saved bytes: `gpustack-manifest v1`, a Hugging Face tree, or a ModelScope file listing.

    Raises GsmError(InvalidInput) for anything else, and what makes a manifest invalid.
    """
    if data.startswith(HEADER):
        parsed = Manifest.parse(data, name=name)
        return Manifest.of(parsed.entries, patterns, name=name) if patterns else parsed
    from gpustack_models.hubs import saved  # the hubs' adapters bring their HTTP client

    return Manifest.of(saved.entries_of(data, name), patterns, name=name)
