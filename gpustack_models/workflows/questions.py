"""Owns what a person may ask to be looked up: references and files of ModelArtifacts, as one list of items.

Refuses to ask; it reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpustack_models.core import refs
from gpustack_models.core.patterns import Patterns
from gpustack_models.core.refs import ImageRef, SourceRef
from gpustack_models.errors import GsmError
from gpustack_models.hubs import oci
from gpustack_models.hubs.oci import ImageName
from gpustack_models.workflows.files import text_of

if TYPE_CHECKING:
    from gpustack_models.core.artifactfile import Filed

_IMAGE = "oci://"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to look up: a reference (an image by tag too), its patterns and expected digest, and the artifact of a
    file that it came from.
    """

    ref: SourceRef | ImageName
    patterns: Patterns | None = None
    expected: str | None = None
    filed: Filed | None = None

    @property
    def name(self) -> str:
        """What a message and a table call it."""
        return str(self.ref)


def of_reference(text: str, patterns: Patterns | None = None, expected: str | None = None) -> Item | GsmError:
    """A reference from the command line, or what is wrong with it."""
    try:
        ref = oci.parse(text) if text.lower().startswith(_IMAGE) else refs.parse(text)
    except GsmError as error:
        return error
    return Item(ref, patterns, expected)


def of_file(file: str, stdin: Callable[[], bytes]) -> list[Item | GsmError]:
    """Every ModelArtifact of a file, or the one error that the file is."""
    from gpustack_models.core.artifactfile import read  # the resources' models take a while to load

    try:
        return [_of_artifact(filed) for filed in read(text_of(file, stdin), file)]
    except GsmError as error:
        return [error]


def _of_artifact(filed: Filed) -> Item:
    spec = filed.artifact.spec
    ref: SourceRef | ImageName = filed.ref
    if isinstance(ref, ImageRef):
        ref = ImageName(ref.registry, ref.repository, ref.digest)
    return Item(ref, spec.patterns or None, spec.expected_digest, filed)
