"""Owns what a restart makes of references: the ledger's records against what is really mounted.

Refuses to read either; both come in as values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpustack_models.store.clock import Instant
from gpustack_models.store.records import Reference


@dataclass(frozen=True, slots=True)
class Mounted:
    """A mount of a tree that the machine has now: its target path, the digest, the volume where that is known."""

    target: str
    digest: str
    volume: str = ""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What becomes of each reference (node-store.md, "The CSI driver")."""

    kept: tuple[Reference, ...]
    adopted: tuple[Reference, ...]
    dropped: tuple[Reference, ...]


def reconcile(known: Iterable[Reference], mounted: Iterable[Mounted], now: Instant) -> Reconciled:
    """In both, kept; only mounted, adopted; only in the ledger, dropped; two digests, the mounted one wins."""
    recorded = {reference.target: reference for reference in known}
    there = {mount.target: mount for mount in mounted}
    kept = tuple(
        reference
        for target, reference in sorted(recorded.items())
        if target in there and there[target].digest == reference.digest
    )
    settled = {reference.target for reference in kept}
    adopted = tuple(
        Reference(mount.volume or _volume(recorded.get(target)), target, mount.digest, now)
        for target, mount in sorted(there.items())
        if target not in settled
    )
    dropped = tuple(reference for target, reference in sorted(recorded.items()) if target not in there)
    return Reconciled(kept, adopted, dropped)


def _volume(reference: Reference | None) -> str:
    return reference.volume if reference else ""
