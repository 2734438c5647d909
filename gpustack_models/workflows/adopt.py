"""Owns finding, in a folder or a hub client's cache, the files of a manifest, and adopting them into a store.

Refuses to fetch anything, and to guess where no folder of a cache is the reference's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpustack_models.core.manifest import Manifest
from gpustack_models.core.refs import HubKind, HubRef
from gpustack_models.hubs import local
from gpustack_models.store import importing, mending, reserving
from gpustack_models.store.capacity import Watermarks
from gpustack_models.store.handles import storing
from gpustack_models.store.importing import Imported, Options
from gpustack_models.store.records import Asked
from gpustack_models.store.trees import Tree, check_paths
from gpustack_models.store.writer import Writer


@dataclass(frozen=True, slots=True)
class Adopted:
    """A tree that was published from files that were here, and how they came in."""

    tree: Tree
    imported: Imported


def folder_for(path: Path, ref: HubRef | None) -> Path:
    """The folder that has a reference's files: `path`, or a place in it where a hub's client keeps that commit."""
    if ref is None:
        return path
    return next((place for place in _places(path, ref) if place.is_dir()), path)


def _places(path: Path, ref: HubRef) -> Iterator[Path]:
    owner, _, name = ref.repository.rpartition("/")
    flat = ref.repository.replace("/", "--")
    if ref.kind is HubKind.HUGGING_FACE:
        # huggingface_hub: HF_HOME, its hub/, or the folder of the one repository.
        for start in (path / "hub" / f"models--{flat}", path / f"models--{flat}", path):
            yield start / "snapshots" / ref.revision
        return
    for start in (path, path / "hub"):
        for revision in (ref.revision, "master"):
            yield start / "models" / flat / "snapshots" / revision
        yield start / "models" / owner / name.replace(".", "___")
        yield start / owner / name.replace(".", "___")


def adopt(
    writer: Writer, folder: Path, manifest: Manifest, options: Options, watermarks: Watermarks, name: str = ""
) -> Adopted:
    """Publish a manifest from the files of a folder.

    Raises GsmError(IntegrityMismatch, NotFound) when not every file is there and right; those that are, are kept, and
    a pull fetches the rest. InsufficientCapacity before a byte is copied that does not fit.
    """
    check_paths(manifest)
    named = {entry.path for entry in manifest.entries}
    sources = {file.path: file.source for file in local.scan(folder, named=named).files if file.path in named}
    writer.begin(manifest.digest, manifest)
    try:
        reserving.check_copies(writer, watermarks, folder, manifest, options.copy)
        imported = importing.import_files(writer, folder, manifest, sources, options)
        if problem := importing.problem_of(imported, manifest.digest):
            _keep_for_a_pull(writer, manifest)
            raise problem
        tree = writer.publish(manifest, names=[name] if name else [])
        mending.heal(writer, manifest)
    finally:
        writer.end(manifest.digest)
    ways = {str(how): count for how, count in imported.files.items()}
    writer.log("imported", manifest.digest, names=[name] if name else [], files=ways)
    return Adopted(tree, imported)


def _keep_for_a_pull(writer: Writer, manifest: Manifest) -> None:
    with storing(f"what is here of {manifest.digest} cannot be kept"):
        writer.pending.put(manifest)
        writer.ledger.put(Asked(manifest.digest, 0, writer.clock.now()))
