"""Owns ModelArtifacts as a person keeps them: the documents of a YAML file, and pinning them in place.

Refuses I/O; what is no ModelArtifact is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack_models.core import refs, yamledit
from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.manifest import is_digest
from gpustack_models.core.refs import HubRef, SourceRef
from gpustack_models.errors import GsmError, Reason


@dataclass(frozen=True, slots=True)
class Place:
    """Where an artifact stands: the file's name, the line its document begins at, and the way to it inside."""

    file: str
    line: int
    document: int
    path: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Filed:
    """One ModelArtifact of a file."""

    place: Place
    artifact: ModelArtifact
    ref: SourceRef

    @property
    def name(self) -> str:
        """What a message calls it: `file:line namespace/name`."""
        metadata = self.artifact.metadata
        named = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
        return f"{self.place.file}:{self.place.line} {named or 'ModelArtifact'}"


@dataclass(frozen=True, slots=True)
class Pin:
    """What an artifact resolved to: a commit, and a manifest digest."""

    commit: str
    digest: str


def read(text: str, file: str) -> list[Filed]:
    """Every ModelArtifact of a YAML text, inside lists too. Raises GsmError(InvalidInput, InvalidReference)."""
    text = text.removeprefix("\ufeff")
    values = yamledit.documents(text, file)
    lines = yamledit.lines(text)
    return [
        _filed(Place(file, lines[index], index, path), value)
        for index, document in enumerate(values)
        for path, value in _artifacts(document)
    ]


def pinned(text: str, pins: Mapping[Place, Pin]) -> str:
    """The text with commits and digests written into those artifacts, every other byte as it was."""
    body = text.removeprefix("\ufeff")
    edits: list[yamledit.Set] = []
    for filed in read(body, next(iter(pins)).file) if pins else ():
        pin = pins.get(filed.place)
        if pin and isinstance(filed.ref, HubRef):
            spec = (*filed.place.path, "spec")
            source = (*spec, "source", filed.ref.kind.value, "revision")
            edits.append(yamledit.Set(filed.place.document, source, pin.commit, after="repository"))
            edits.append(yamledit.Set(filed.place.document, (*spec, "expectedDigest"), pin.digest))
    if not edits:
        return text
    return text[: len(text) - len(body)] + yamledit.edited(body, edits, next(iter(pins)).file)


def ref_of(artifact: ModelArtifact) -> SourceRef:
    """The one source of an artifact. Raises GsmError(InvalidInput) for none or several, (InvalidReference)."""
    source = artifact.spec.source
    members = [source.hugging_face, source.model_scope, source.persistent_volume_claim, source.image]
    if sum(member is not None for member in members) != 1:
        raise GsmError(
            Reason.INVALID_INPUT,
            "spec.source has exactly one of huggingFace, modelScope, persistentVolumeClaim and image",
        )
    if hub := artifact.spec.hub_ref:
        return hub
    if source.persistent_volume_claim:
        return refs.parse(str(source.persistent_volume_claim.ref))
    return refs.parse(f"oci://{source.image.reference if source.image else ''}")


def to_object(name: str, ref: HubRef, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A ready ModelArtifact for a pinned reference; `spec` are the members beside its source."""
    return {
        "apiVersion": ModelArtifact.KIND.api_version,
        "kind": ModelArtifact.KIND.kind,
        "metadata": {"name": name},
        "spec": {
            "source": {ref.kind.value: {"repository": ref.repository, "revision": ref.revision}},
            **{key: value for key, value in spec.items() if value},
        },
    }


def object_name(repository: str) -> str:
    """A Kubernetes name made of a repository's: lowercase, what a name may not hold becomes a dash, 63 characters."""
    short = repository.rpartition("/")[2].lower()
    words = "".join(letter if letter.isalnum() and letter.isascii() else " " for letter in short).split()
    return "-".join(words)[:63].strip("-") or "model"


def _artifacts(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    if not isinstance(value, dict):
        return
    kind = ModelArtifact.KIND
    group = str(value.get("apiVersion", "")).partition("/")[0]
    if value.get("kind") == kind.kind and group == kind.group:
        yield path, value
    items = value.get("items")
    if str(value.get("kind", "")).endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            yield from _artifacts(item, (*path, "items", index))


def _filed(place: Place, value: dict[str, Any]) -> Filed:
    try:
        artifact = ModelArtifact.parse(value)
        expected = artifact.spec.expected_digest
        if expected is not None and not is_digest(expected):
            raise GsmError(Reason.INVALID_INPUT, "spec.expectedDigest is not sha256: and 64 lowercase hex")
        return Filed(place, artifact, ref_of(artifact))
    except GsmError as error:
        raise GsmError(error.reason, f"{place.file}:{place.line}: {error.message}", hint=error.hint) from error
