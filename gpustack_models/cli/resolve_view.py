"""Owns how resolutions are shown: as fields, a table, objects, names, ready ModelArtifacts.

Refuses to print, and to ask; it makes text and values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpustack_models.cli.output import size_text
from gpustack_models.cli.results import error_object
from gpustack_models.core.manifest import Entry, Manifest
from gpustack_models.core.refs import HubRef
from gpustack_models.errors import GsmError
from gpustack_models.hubs.oci import Image
from gpustack_models.hubs.protocol import TokenState
from gpustack_models.workflows.lookup import Found, Token
from gpustack_models.workflows.questions import Item
from gpustack_models.workflows.resolve import Resolution

if TYPE_CHECKING:
    from gpustack_models.core.artifactfile import Filed

HEADER = ("REFERENCE", "COMMIT", "DIGEST", "FILES", "SIZE", "ACCESS")
NOTHING = "-"
_CLAIM = "not read: a claim's identity is the claim itself"


def row(found: Found) -> tuple[str, ...]:
    """One line of the table, in the order of HEADER."""
    name, result = found.item.name, found.result
    if isinstance(result, Resolution):
        manifest = result.manifest
        access = _access(found.token)
        return name, result.commit, manifest.digest, str(manifest.file_count), size_text(manifest.size), access
    if isinstance(result, Image):
        size = NOTHING if result.size is None else size_text(result.size)
        return name, NOTHING, result.ref.digest, NOTHING, size, "readable"
    return name, NOTHING, NOTHING, NOTHING, NOTHING, _CLAIM


def table(found: Sequence[Found]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The header and the rows of several; what comes from files is named by its place first."""
    if not any(each.item.filed for each in found):
        return HEADER, [row(each) for each in found]
    rows = [(each.item.filed.name if each.item.filed else NOTHING, *row(each)) for each in found]
    return ("ARTIFACT", *HEADER), rows


def fields(found: Found) -> list[tuple[str, str]]:
    """The same of one item, a line each; what it has not is left out."""
    named = [(name.lower(), value) for name, value in zip(HEADER, row(found), strict=True) if value != NOTHING]
    if isinstance(found.result, Image):
        named.insert(1, ("pinned", found.pinned))
    if found.item.filed:
        named.insert(0, ("artifact", found.item.filed.name))
    return named


def files(manifest: Manifest) -> list[tuple[str, ...]]:
    """The rows of a listing: digest, size in bytes, path."""
    return [(str(entry.digest), str(entry.size), entry.path) for entry in manifest.entries]


def value(found: Found | GsmError, item: Item | GsmError, *, with_files: bool) -> dict[str, Any]:
    """One object of a machine format; an error is an object too."""
    name = item.name if isinstance(item, Item) else ""
    artifact = {"artifact": _place(item.filed)} if isinstance(item, Item) and item.filed else {}
    if isinstance(found, GsmError):
        return {"reference": name, **artifact, "error": error_object(found)}
    return {"reference": name, "pinned": found.pinned, **artifact, **_facts(found, with_files)}


def _place(filed: Filed) -> dict[str, Any]:
    place, metadata = filed.place, filed.artifact.metadata
    return {"file": place.file, "line": place.line, "namespace": metadata.namespace, "name": metadata.name}


def artifact(found: Found) -> dict[str, Any]:
    """A ready ModelArtifact: pinned, with its expected digest; one of a file keeps what else it says."""
    from gpustack_models.core.artifact import ModelArtifact  # the resources' models take a while to load
    from gpustack_models.core.artifactfile import object_name, to_object

    pin = _pin(found)
    if filed := found.item.filed:
        known = filed.artifact.to_object()
        known.pop("status", None)
        source = {kind: {**member, **pin.get(kind, {})} for kind, member in known["spec"]["source"].items()}
        spec = {**known["spec"], "source": source}
        return {**known, "spec": {**spec, "expectedDigest": found.manifest.digest} if found.manifest else spec}
    if isinstance(found.result, Resolution):
        pinned, patterns = found.result.pinned, found.item.patterns
        lists = {"allowPatterns": list(patterns.allow), "ignorePatterns": list(patterns.ignore)} if patterns else {}
        spec = {**lists, "expectedDigest": found.result.manifest.digest}
        return to_object(object_name(pinned.repository), pinned, spec)
    name = found.result.ref.repository if isinstance(found.result, Image) else found.result.claim
    kind = ModelArtifact.KIND
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": object_name(name)},
        "spec": {"source": pin},
    }


def _pin(found: Found) -> dict[str, dict[str, str]]:
    result = found.result
    if isinstance(result, Resolution):
        pinned: HubRef = result.pinned
        return {pinned.kind.value: {"repository": pinned.repository, "revision": pinned.revision}}
    if isinstance(result, Image):
        return {"image": {"reference": result.ref.reference}}
    path = {"path": result.path} if result.path else {}
    return {"persistentVolumeClaim": {"claimName": result.claim, **path}}


def _facts(found: Found, with_files: bool) -> dict[str, Any]:
    result = found.result
    if isinstance(result, Resolution):
        manifest, token = result.manifest, found.token
        facts: dict[str, Any] = {
            "source": result.ref.kind.value,
            "repository": result.ref.repository,
            "revision": result.ref.revision,
            "commit": result.commit,
            "digest": manifest.digest,
            "fileCount": manifest.file_count,
            "sizeBytes": manifest.size,
            "access": {"readable": True, "token": token.state.value if token.state else "Unknown"},
        }
        if token.source:
            facts["access"]["tokenSource"] = token.source
        return {**facts, "files": [_file(entry) for entry in manifest.entries]} if with_files else facts
    if isinstance(result, Image):
        size = {} if result.size is None else {"sizeBytes": result.size}
        return {"source": "image", "digest": result.ref.digest, **size, "access": {"readable": True}}
    return {"source": "persistentVolumeClaim", "claimName": result.claim, "path": result.path, "note": _CLAIM}


def _file(entry: Entry) -> dict[str, Any]:
    return {"path": entry.path, "size": entry.size, "digest": str(entry.digest)}


def _access(token: Token) -> str:
    return {
        TokenState.ABSENT: "readable without a token",
        TokenState.ACCEPTED: f"readable with {token.source}",
        TokenState.REJECTED: f"readable without a token ({token.source} was rejected)",
        None: f"readable with {token.source}" if token.source else "readable without a token",
    }[token.state]


def names(found: Sequence[Found]) -> str:
    """The pinned references, one a line."""
    return "".join(f"{each.pinned}\n" for each in found)
