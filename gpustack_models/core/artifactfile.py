"""Owns ModelArtifacts as a person keeps them: the documents of a YAML file, and pinning them in place.

Refuses I/O; what is no ModelArtifact is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack_models.core import refs, yamledit
from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.manifest import is_digest
from gpustack_models.core.paths import Path
from gpustack_models.core.refs import HubRef, SourceRef
from gpustack_models.errors import GsmError, Reason

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an artifact stands: file, line, column, the line of its document's root, the way to it from there."""

    file: str
    line: int
    column: int
    root: int
    path: Path = ()


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
    return [
        _filed(
            Place(file, position.line, position.column, document.mark.position.line, document.prefix), document.value
        )
        for document in yamledit.documents(text, file)
        if _is_artifact(document.value)
        for position in (document.position(()),)
    ]


def pinned(text: str, pins: Mapping[Place, Pin]) -> str:
    """The text with commits and digests written into those artifacts, every other byte as it was."""
    mark = text[: text.startswith(_BYTE_ORDER_MARK)]
    body = text.removeprefix(_BYTE_ORDER_MARK)
    edits: list[yamledit.Set] = []
    for filed in read(body, next(iter(pins)).file) if pins else ():
        pin = pins.get(filed.place)
        if pin and isinstance(filed.ref, HubRef):
            root, spec = filed.place.root, (*filed.place.path, "spec")
            source = (*spec, "source", filed.ref.kind.value, "revision")
            edits.append(yamledit.Set(root, source, pin.commit, after="repository"))
            edits.append(yamledit.Set(root, (*spec, "expectedDigest"), pin.digest))
    return mark + yamledit.edited(body, edits, next(iter(pins)).file) if edits else text


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


def _is_artifact(value: Any) -> bool:
    kind = ModelArtifact.KIND
    if not isinstance(value, dict) or value.get("kind") != kind.kind:
        return False
    return str(value.get("apiVersion", "")).partition("/")[0] == kind.group


def _filed(place: Place, value: dict[str, Any]) -> Filed:
    try:
        artifact = ModelArtifact.parse(value)
        expected = artifact.spec.expected_digest
        if expected is not None and not is_digest(expected):
            raise GsmError(Reason.INVALID_INPUT, "spec.expectedDigest is not sha256: and 64 lowercase hex")
        return Filed(place, artifact, ref_of(artifact))
    except GsmError as error:
        raise GsmError(error.reason, f"{place.file}:{place.line}: {error.message}", hint=error.hint) from error
