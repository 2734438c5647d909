"""Owns what a new writer does first: what a crash left half made goes to the trash, and the trash is emptied.

Refuses to touch what is published, what a resume needs, and a broken tree that may still be mounted.
"""

from __future__ import annotations

from contextlib import suppress

from gpustack_models.store.handles import TEMPORARY, Dir
from gpustack_models.store.layout import STAGING, WITHDRAWN, Root


def recover(root: Root) -> int:
    """Clean up after a writer that died. Returns how many leftovers went. Raises OSError."""
    gone = 0
    for folder in (root.top, root.partial, root.ledger, *root.records.values()):
        gone += _remove(folder, TEMPORARY)
    gone += _remove(root.trees, STAGING)
    gone += _remove_named(root.partial)
    with suppress(OSError):  # what cannot be deleted now takes room, and stands in nobody's way
        gone += empty(root)
    return gone


def empty(root: Root, names: set[str] | None = None) -> int:
    """Empty the trash (of some names, or of all but the broken trees that references keep). Raises OSError."""
    gone = 0
    for name in root.trash.names():
        if name in names if names is not None else WITHDRAWN not in name:
            root.trash.remove(name)
            gone += 1
    return gone


def _remove_named(partial: Dir) -> int:
    """Files that have a name as a blob already: a crash came before this one was taken away."""
    twice = [name for name in partial.names() if (found := partial.stat(name)) and found.st_nlink > 1]
    for name in twice:
        partial.remove(name)
    return len(twice)


def _remove(folder: Dir, prefix: str) -> int:
    names = [name for name in folder.names() if name.startswith(prefix)]
    for name in names:
        folder.remove(name)
    return len(names)
