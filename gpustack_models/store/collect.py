"""Owns carrying a plan out: what it names leaves in renames under the guard, and is deleted after.

Refuses anything that the plan does not name, or that became wrong since it was made.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from gpustack_models.errors import GsmError, Reason
from gpustack_models.store import plan as planning
from gpustack_models.store import recovery
from gpustack_models.store.facts import Snapshot
from gpustack_models.store.handles import storing
from gpustack_models.store.layout import digest_of, tree_name
from gpustack_models.store.plan import Kind, Plan, Removal
from gpustack_models.store.records import Asked, Failure, Pin, Reference, Use
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Writer

#: From a snapshot to what should go.
Decide = Callable[[Snapshot], Plan]


def execute(writer: Writer, plan: Plan, decide: Decide) -> Plan:
    """Do what a plan says; what changed since it was made is decided again, and only what both name goes.

    Returns what was done. Raises GsmError(StorageFailed).
    """
    with storing("the collection cannot go on"):
        with writer.guard:
            if writer.generation != plan.generation:
                plan = planning.restricted(plan, decide(writer.snapshot()))
            gone = {name for removal in plan.removals for name in _take(writer, removal)}
            writer.root.trees.sync()
            writer.ledger.sync()
            writer.generation += 1
        recovery.empty(writer.root, gone)
    for removal in plan.removals:
        writer.log("removed", _digest(removal), kind=str(removal.kind), bytes=removal.bytes, why=removal.why)
    return plan


def collect(writer: Writer, decide: Decide) -> Plan:
    """Look, decide, do. Raises GsmError(UnknownFormat, StorageFailed) when the ledger cannot be read: nothing goes."""
    plan = decide(writer.snapshot())
    return execute(writer, plan, decide) if plan.removals else plan


def check_removable(store: Store, digest: str) -> None:
    """Refuse a person's `rm` of what is referenced or pinned. Raises GsmError(Refused)."""
    with storing(f"what holds {digest} cannot be read"):
        holders = [reference.target for reference in store.ledger.all(Reference) if reference.digest == digest]
        if holders:
            raise GsmError(Reason.REFUSED, f"{digest} is referenced by {len(holders)} mounts", hint="unmount it first")
        if store.ledger.get(Pin, digest):
            raise GsmError(Reason.REFUSED, f"{digest} is pinned", hint=f"gsm node-store unpin {digest}")


def _take(writer: Writer, removal: Removal) -> list[str]:
    """Take one removal out of sight; the names in `trash/` to be deleted."""
    names = []
    match removal.kind:
        case Kind.TREE if digest_of(tree_name(removal.name)):
            names.append(writer.trash_name(tree_name(removal.name)))
            with suppress(FileNotFoundError):
                writer.trees.withdraw(removal.name, names[-1])
            forget(writer, removal.name)
        case Kind.TREE:  # a broken tree that waits in the trash
            names.append(removal.name)
        case Kind.FAILURE:
            writer.ledger.forget(Failure, removal.name)
        case Kind.PARTIAL if digest_of(tree_name(removal.name)):
            writer.pending.drop(removal.name)
            forget(writer, removal.name)
    for blob in removal.blobs:
        names.append(writer.trash_name(blob.hex))
        writer.blobs.discard(blob, names[-1])
    for partial in removal.partials:
        names.append(writer.trash_name(partial))
        with suppress(FileNotFoundError):
            writer.root.partial.rename(partial, writer.root.trash, names[-1])
    return names


def forget(writer: Writer, digest: str) -> None:
    """Drop what the ledger knows of a digest's use; pins and references stay. Raises OSError."""
    writer.ledger.forget(Use, digest)
    writer.ledger.forget(Asked, digest)


def _digest(removal: Removal) -> str:
    return removal.name if removal.name.startswith("sha256:") else ""
