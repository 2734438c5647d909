"""Owns source references: every form a person may write, parsed to one frozen value and printed back.

Refuses what names no source exactly (an image tag, a claim path that climbs), showing the nearest right form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from gpustack_models.core import weburls
from gpustack_models.core.location import without_query
from gpustack_models.errors import GsmError, Reason


class HubKind(StrEnum):
    """The two hubs, by the name of their member in a ModelArtifact's `spec.source`."""

    HUGGING_FACE = "huggingFace"
    MODEL_SCOPE = "modelScope"


DEFAULT_REVISION = {HubKind.HUGGING_FACE: "main", HubKind.MODEL_SCOPE: "master"}
_SCHEME = {HubKind.HUGGING_FACE: "hf", HubKind.MODEL_SCOPE: "ms"}

FORMS = (
    "hf://org/repo[@revision]",
    "ms://org/repo[@revision]",
    "pvc://claim[/path]",
    "oci://registry/repo@sha256:<64 hex>",
    "a directory or file:///path",
)

_NAME = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"
_REPOSITORY = re.compile(rf"{_NAME}(?:/{_NAME})?")
# What git's own check-ref-format refuses, as far as one name can show it.
_REVISION = re.compile(r"(?![-.])(?!@\Z)(?!.*(?:\.\.|@\{|/\.|\.lock(?:/|\Z)|[./]\Z))[^\x00-\x20\x7f~^:?*\[\\]{1,255}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_CLAIM = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_PORT = r"(?::[0-9]{1,5})?"
_IMAGE = re.compile(
    rf"(?P<registry>(?:(?i:{_LABEL}(?:\.{_LABEL})*)|\[[0-9a-fA-F:]+\]){_PORT})"
    r"/(?P<repository>[a-z0-9]+(?:(?:/|[._]|__|-+)[a-z0-9]+)*)"
)
_IMAGE_TAGGED = re.compile(rf"{_IMAGE.pattern}(?P<tag>:[\w][\w.-]{{0,127}})?")
_IMAGE_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
MAX_IMAGE_REFERENCE = 1024
_MAX_SHOWN = 300


@dataclass(frozen=True, slots=True)
class HubRef:
    """A repository of a hub at a revision (a branch, a tag or a commit)."""

    kind: HubKind
    repository: str
    revision: str

    @property
    def is_commit(self) -> bool:
        """Whether the revision is a full commit: 40 lowercase hexadecimal digits."""
        return is_commit(self.revision)

    def __str__(self) -> str:
        return f"{_SCHEME[self.kind]}://{self.repository}@{self.revision}"


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """A directory inside a PersistentVolumeClaim; an empty path is its root."""

    claim: str
    path: str = ""

    def __str__(self) -> str:
        return f"pvc://{self.claim}" + (f"/{self.path}" if self.path else "")


@dataclass(frozen=True, slots=True)
class ImageRef:
    """An image by digest; the digest is its whole identity."""

    registry: str
    repository: str
    digest: str

    @property
    def reference(self) -> str:
        """The reference as a ModelArtifact carries it."""
        return f"{self.registry}/{self.repository}@{self.digest}"

    def __str__(self) -> str:
        return f"oci://{self.reference}"


@dataclass(frozen=True, slots=True)
class LocalRef:
    """A directory on this machine, as written. Never in a ModelArtifact."""

    path: str

    def __str__(self) -> str:
        return self.path


SourceRef = HubRef | ClaimRef | ImageRef | LocalRef


def is_commit(text: str) -> bool:
    """Whether a text is a full commit: 40 lowercase hexadecimal digits."""
    return _COMMIT.fullmatch(text) is not None


def parse(text: str) -> SourceRef:
    """Read one reference (hubs.md, "Source references").

    A bare `org/repo` is Hugging Face; what begins with `/`, `./`, `../`, `~` or is `.` or `..` is a directory. Raises
    GsmError(InvalidReference) that says what is wrong and shows the nearest right form.
    """
    if text in (".", "..") or text.startswith(("/", "./", "../", "~")):
        return _local(text, text)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _hub(HubKind.HUGGING_FACE, text, text)
    parser = _PARSERS.get(scheme.lower())
    if parser is None:
        raise _invalid(without_query(text), f"{scheme:.20} is not a scheme of a source", " or ".join(FORMS))
    return parser(rest, text)


def parse_hub(text: str) -> HubRef:
    """Read one reference that must name a hub's repository. Raises GsmError(InvalidReference)."""
    ref = parse(text)
    if not isinstance(ref, HubRef):
        raise _invalid(text, "it names no hub repository", " or ".join(FORMS[:2]))
    return ref


def hub_ref(kind: HubKind, repository: str, revision: str = "") -> HubRef:
    """A checked HubRef from a ModelArtifact's fields; an empty revision is the hub's default."""
    return _checked(kind, repository, revision or DEFAULT_REVISION[kind], f"{_SCHEME[kind]}://{repository}")


def _hub(kind: HubKind, rest: str, text: str) -> HubRef:
    repository, at, revision = rest.partition("@")
    if at and not revision:
        raise _invalid(text, "nothing follows the @", f"{_SCHEME[kind]}://{repository}@{DEFAULT_REVISION[kind]}")
    return _checked(kind, repository.rstrip("/"), revision or DEFAULT_REVISION[kind], text)


def _checked(kind: HubKind, repository: str, revision: str, text: str) -> HubRef:
    owner, _, name = repository.partition("/")
    if owner.lower() in _ONE_SLASH:
        raise _invalid(text, "two slashes follow a scheme", f"{owner.lower()}//{name.lstrip('/')}")
    if "/" in name:
        if owner in ("datasets", "spaces", "kernels", "buckets"):
            raise _invalid(text, f"it names one of the hub's {owner}, not a model", FORMS[0])
        name, *tail = name.split("/")
        nearest = f"{_SCHEME[kind]}://{owner}/{name}"
        if tail[0] in ("tree", "resolve", "blob") and len(tail) > 1:
            nearest += f"@{tail[1]}"
        raise _invalid(text, "a repository is owner/name", nearest)
    if not _REPOSITORY.fullmatch(repository) or repository.endswith(".git") or ".." in repository or "--" in repository:
        raise _invalid(text, f"{repository:.200} is not a repository name", FORMS[kind is HubKind.MODEL_SCOPE])
    if not _REVISION.fullmatch(revision) or _climbs(revision) or not revision.isprintable():
        nearest = f"{_SCHEME[kind]}://{repository}@{DEFAULT_REVISION[kind]}"
        raise _invalid(text, f"{revision!r:.300} is not a branch, tag or commit", nearest)
    return HubRef(kind, repository, revision)


def _hugging_face(rest: str, text: str) -> HubRef:
    return _hub(HubKind.HUGGING_FACE, rest, text)


def _model_scope(rest: str, text: str) -> HubRef:
    return _hub(HubKind.MODEL_SCOPE, rest, text)


def _claim(rest: str, text: str) -> ClaimRef:
    claim, _, path = rest.partition("/")
    path = path.rstrip("/")
    if not _CLAIM.fullmatch(claim):
        raise _invalid(text, f"{claim!r:.300} is not the name of a claim", "pvc://models/qwen")
    if path and _climbs(path):
        raise _invalid(text, "the path must stay inside the volume", f"pvc://{claim}/qwen")
    return ClaimRef(claim, path)


def _image(rest: str, text: str) -> ImageRef:
    name, at, digest = rest.partition("@")
    match = _IMAGE_TAGGED.fullmatch(name) if len(rest) <= MAX_IMAGE_REFERENCE else None
    if match is None:
        raise _invalid(text, "an image is <registry>/<repository>@sha256:<64 hex>", FORMS[3])
    registry, repository, tag = match["registry"], match["repository"], match["tag"]
    if not at:
        raise _invalid(text, "a tag can move; only a digest names an image", f"oci://{registry}/{repository}@<digest>")
    if not _IMAGE_DIGEST.fullmatch(digest):
        nearest = f"oci://{registry}/{repository}@sha256:<64 hex>"
        raise _invalid(text, "its digest is not sha256: and 64 lowercase hex", nearest)
    if tag:
        nearest = f"oci://{registry}/{repository}@{digest}"
        raise _invalid(text, "a tag beside the digest says nothing; leave it out", nearest)
    return ImageRef(registry, repository, digest)


def _file(rest: str, text: str) -> LocalRef:
    path = rest.removeprefix("localhost")
    if not path.startswith("/"):
        raise _invalid(text, "a file URL has an absolute path and no host", f"file:///{rest}")
    return _local(unquote(path, errors="surrogateescape"), text)


def _local(path: str, text: str) -> LocalRef:
    if "\0" in path:
        raise _invalid(text, "a directory's name has no NUL character", FORMS[4])
    return LocalRef(path)


def _browser_url(_rest: str, text: str) -> HubRef:
    address = weburls.read(text)
    shown = without_query(text)
    if isinstance(address, str):
        raise _invalid(shown, address, " or ".join(FORMS[:2]))
    kind = HubKind.MODEL_SCOPE if address.model_scope else HubKind.HUGGING_FACE
    return _checked(kind, address.repository, address.revision or DEFAULT_REVISION[kind], shown)


def _climbs(path: str) -> bool:
    # Also what no API object can carry: a control character, and a byte of a file name that is not UTF-8.
    return any(segment in ("", ".", "..") for segment in path.split("/")) or any(
        ord(character) < 0x20 or ord(character) == 0x7F or 0xD800 <= ord(character) <= 0xDFFF for character in path
    )


def _invalid(text: str, wrong: str, nearest: str) -> GsmError:
    shown = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
    return GsmError(Reason.INVALID_REFERENCE, f"{shown!r}: {wrong}", hint=f"write {nearest:.{_MAX_SHOWN}}")


#: What is written when a slash of a scheme is forgotten; an address of the web may carry a credential.
_ONE_SLASH = frozenset({"hf:", "huggingface:", "ms:", "modelscope:", "pvc:", "oci:"})

_PARSERS: dict[str, Callable[[str, str], SourceRef]] = {
    "hf": _hugging_face,
    "huggingface": _hugging_face,
    "ms": _model_scope,
    "modelscope": _model_scope,
    "pvc": _claim,
    "oci": _image,
    "file": _file,
    "http": _browser_url,
    "https": _browser_url,
}
