"""Owns resolving: from a reference to a commit, a manifest, and whether it may be read.

Refuses to know which hub it asks, and where its token came from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpustack_models.core.manifest import Entry, Manifest, check_expected
from gpustack_models.core.patterns import Patterns
from gpustack_models.core.refs import HubRef
from gpustack_models.hubs.protocol import Hub, ListingProgress


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a hub's reference names: the commit its revision is now, and the manifest of its kept files.

    That it exists means that the content may be read: one file was asked for at the commit.
    """

    ref: HubRef
    commit: str
    manifest: Manifest

    @property
    def pinned(self) -> HubRef:
        """The reference at the commit."""
        return replace(self.ref, revision=self.commit)


def resolve(
    hub: Hub,
    ref: HubRef,
    patterns: Patterns | None = None,
    expected: str | None = None,
    progress: ListingProgress | None = None,
) -> Resolution:
    """Ask a hub what a reference names (model-artifact.md, "Resolution and revalidation").

    Raises GsmError with a reason of hubs.md; DigestMismatch when the manifest is not the `expected` digest's.
    """
    name = str(ref)
    commit = hub.resolve(ref.repository, ref.revision)
    entries = hub.list(ref.repository, commit, progress)
    manifest = Manifest.of(entries, patterns, name=name)
    hub.check_access(ref.repository, commit, first_file(entries))
    check_expected(name, manifest, expected)
    return Resolution(ref, commit, manifest)


def first_file(entries: Sequence[Entry]) -> str | None:
    """The file that access is checked with: the first by path at the root, or the first of all (hubs.md)."""
    paths = [entry.path for entry in entries]
    key: Callable[[str], bytes] = str.encode
    return min((path for path in paths if "/" not in path), key=key, default=min(paths, key=key, default=None))
