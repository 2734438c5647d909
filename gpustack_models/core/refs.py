"""Owns source references: every form a person may write, parsed to one frozen value and printed back.

Refuses what names no source exactly (an image tag, a claim path that climbs), showing the nearest right form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote, urlsplit

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

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,95})"
_REPOSITORY = re.compile(rf"{_NAME}(?:/{_NAME})?")
_REVISION = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\]{1,255}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_CLAIM = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_IMAGE = re.compile(
    r"(?P<registry>[a-zA-Z0-9.-]+(?::[0-9]{1,5})?|\[[0-9a-fA-F:]+\](?::[0-9]{1,5})?)"
    r"/(?P<repository>[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)"
)
_IMAGE_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
MAX_IMAGE_REFERENCE = 1024


@dataclass(frozen=True, slots=True)
class HubRef:
    """A repository of a hub at a revision (a branch, a tag or a commit)."""

    kind: HubKind
    repository: str
    revision: str

    @property
    def is_commit(self) -> bool:
        """Whether the revision is a full commit: 40 lowercase hexadecimal digits."""
        return _COMMIT.fullmatch(self.revision) is not None

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


def parse(text: str) -> SourceRef:
    """Read one reference (hubs.md, "Source references").

    A bare `org/repo` is Hugging Face; what begins with `/`, `./`, `../`, `~` or is `.` or `..` is a directory. Raises
    GsmError(InvalidReference) that says what is wrong and shows the nearest right form.
    """
    scheme, separator, rest = text.partition("://")
    if not separator:
        if text in (".", "..") or text.startswith(("/", "./", "../", "~")):
            return LocalRef(text)
        return _hub(HubKind.HUGGING_FACE, text, text)
    parser = _PARSERS.get(scheme.lower())
    if parser is None:
        raise _invalid(text, f"{scheme!r} is not a scheme of a source", " or ".join(FORMS))
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
    if repository.count("/") > 1:
        owner, name, *tail = repository.split("/")
        nearest = f"{_SCHEME[kind]}://{owner}/{name}"
        if tail[0] in ("tree", "resolve", "blob") and len(tail) > 1:
            nearest += f"@{tail[1]}"
        raise _invalid(text, "a repository is owner/name", nearest)
    if not _REPOSITORY.fullmatch(repository) or ".." in repository or "--" in repository:
        raise _invalid(text, f"{repository!r} is not a repository name", FORMS[kind is HubKind.MODEL_SCOPE])
    if not _REVISION.fullmatch(revision) or _climbs(revision) or revision.startswith("-"):
        raise _invalid(
            text,
            f"{revision!r} is not a branch, tag or commit",
            f"{_SCHEME[kind]}://{repository}@{DEFAULT_REVISION[kind]}",
        )
    return HubRef(kind, repository, revision)


def _hugging_face(rest: str, text: str) -> HubRef:
    return _hub(HubKind.HUGGING_FACE, rest, text)


def _model_scope(rest: str, text: str) -> HubRef:
    return _hub(HubKind.MODEL_SCOPE, rest, text)


def _claim(rest: str, text: str) -> ClaimRef:
    claim, _, path = rest.partition("/")
    path = path.rstrip("/")
    if not _CLAIM.fullmatch(claim):
        raise _invalid(text, f"{claim!r} is not the name of a claim", "pvc://models/qwen")
    if path and _climbs(path):
        raise _invalid(text, "the path must stay inside the volume", f"pvc://{claim}/qwen")
    return ClaimRef(claim, path)


def _image(rest: str, text: str) -> ImageRef:
    name, at, digest = rest.partition("@")
    match = _IMAGE.fullmatch(name)
    if at and match and _IMAGE_DIGEST.fullmatch(digest) and len(rest) <= MAX_IMAGE_REFERENCE:
        return ImageRef(match["registry"], match["repository"], digest)
    if match := re.fullmatch(rf"{_IMAGE.pattern}(?::[\w.-]+)?", name):
        bare = f"{match['registry']}/{match['repository']}"
        wrong = (
            "its digest is not sha256: and 64 lowercase hex" if at else "a tag can move; only a digest names an image"
        )
        raise _invalid(text, wrong, f"oci://{bare}@sha256:<64 hex>")
    raise _invalid(text, "an image is <registry>/<repository>@sha256:<64 hex>", FORMS[3])


def _file(rest: str, text: str) -> LocalRef:
    if not rest.startswith("/"):
        raise _invalid(text, "a file URL has an absolute path and no host", f"file:///{rest}")
    return LocalRef(unquote(rest))


def _browser_url(_rest: str, text: str) -> HubRef:
    parts = urlsplit(text)
    segments = [unquote(segment) for segment in parts.path.split("/") if segment]
    host = (parts.hostname or "").removeprefix("www.")
    if host in ("huggingface.co", "hf.co"):
        kind = HubKind.HUGGING_FACE
        separators: tuple[str, ...] = ("tree", "blob", "resolve", "commit")
    elif host in ("modelscope.cn", "modelscope.ai") and segments[:1] == ["models"]:
        kind, segments = HubKind.MODEL_SCOPE, segments[1:]
        separators = ("tree", "file", "files", "summary", "resolve")
    else:
        raise _invalid(text, "it is not the address of a model on a known hub", " or ".join(FORMS[:2]))
    if segments[:1] in (["datasets"], ["spaces"]):
        raise _invalid(text, f"it names one of the hub's {segments[0]}, not a model", FORMS[0])
    cut = next(
        (index for index, segment in enumerate(segments[:3]) if index and segment in separators),
        len(segments),
    )
    repository, tail = "/".join(segments[:cut]), segments[cut + 1 :]
    return _checked(kind, repository, _revision_of(tail) or DEFAULT_REVISION[kind], text)


def _revision_of(tail: list[str]) -> str:
    # A browser shows refs/pr/3 with plain slashes; any other branch is one segment, followed by the path of a file.
    if tail[:1] == ["refs"]:
        return "/".join(tail[:3])
    return tail[0] if tail else ""


def _climbs(path: str) -> bool:
    return any(segment in ("", ".", "..") for segment in path.split("/")) or any(
        ord(character) < 0x20 or ord(character) == 0x7F for character in path
    )


def _invalid(text: str, wrong: str, nearest: str) -> GsmError:
    return GsmError(Reason.INVALID_REFERENCE, f"{text!r}: {wrong}", hint=f"write {nearest}")


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
