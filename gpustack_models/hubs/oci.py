"""Owns looking an image up at its registry: the digest that a tag names now, and whether it may be read.

Refuses to pull; kubelet does that. `oras` brings the registry's authentication and is imported when it is needed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gpustack_models.core import refs
from gpustack_models.core.refs import ImageRef
from gpustack_models.errors import GsmError, Reason, missing_extra

#: The distribution specification lets a registry refuse a larger one.
MAX_MANIFEST = 4 << 20
MEDIA_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_PLACEHOLDER = "sha256:" + "0" * 64
_DOCKER_HUB = "docker.io"
#: What `docker login` calls it.
_DOCKER_HUB_LOGIN = "https://index.docker.io/v1/"


@dataclass(frozen=True, slots=True)
class ImageName:
    """What a person asks a registry for: a tag, or a digest."""

    registry: str
    repository: str
    version: str

    @property
    def is_digest(self) -> bool:
        """Whether the version is a digest, which names one content for ever."""
        return ":" in self.version

    def __str__(self) -> str:
        return f"oci://{self.registry}/{self.repository}{'@' if self.is_digest else ':'}{self.version}"


@dataclass(frozen=True, slots=True)
class Image:
    """What a registry has: the pinned reference, and the bytes of its layers (None for an index of several)."""

    ref: ImageRef
    size: int | None


def parse(text: str) -> ImageName:
    """Read `oci://registry/repository` with a tag, a digest or neither (`latest`).

    Raises GsmError(InvalidReference).
    """
    name, at, _ = text.partition("@")
    if at:
        pinned = refs.parse(text)
        assert isinstance(pinned, ImageRef)  # noqa: S101 - the scheme is oci
        return ImageName(pinned.registry, pinned.repository, pinned.digest)
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    if not _TAG.fullmatch(tag or "latest"):
        raise GsmError(
            Reason.INVALID_REFERENCE, f"{text!r}: {tag!r} is not a tag", hint=f"write {head}{slash}{last}:latest"
        )
    checked = refs.parse(f"{head}{slash}{last}@{_PLACEHOLDER}")
    assert isinstance(checked, ImageRef)  # noqa: S101 - the scheme is oci
    return ImageName(checked.registry, checked.repository, tag or "latest")


def look_up(name: ImageName, environment: Mapping[str, str], timeout: float) -> Image:
    """Ask the registry for a manifest (one GET, with the credentials of `docker login`).

    Raises GsmError(RevisionNotFound, AccessDenied, SourceUnavailable, InvalidManifest, MissingExtra).
    """
    body, declared = _fetch(name, environment, timeout)
    digest = "sha256:" + hashlib.sha256(body).hexdigest()
    wanted = name.version if name.is_digest else declared
    if wanted and wanted != digest:
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"{name}: the registry sent {digest} for {wanted}")
    try:
        manifest = json.loads(body)
        layers = manifest.get("layers")
        size = sum(layer["size"] for layer in layers) if isinstance(layers, list) else None
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"{name}: the registry's answer is not a manifest") from error
    return Image(ImageRef(name.registry, name.repository, digest), size)


def _fetch(name: ImageName, environment: Mapping[str, str], timeout: float) -> tuple[bytes, str]:
    try:
        import oras.provider
        import requests
        import urllib3
    except ImportError as error:
        raise missing_extra("oci", f"looking up {name}") from error
    logging.getLogger("oras.logger").setLevel(logging.CRITICAL)  # it speaks of its own tries on stderr
    try:
        answer = _ask(oras.provider.Registry, name, environment, timeout)
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        why = "did not answer in time" if isinstance(error, requests.Timeout) else f"cannot be asked ({_short(error)})"
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"{name}: the registry {why}") from error
    if answer.status != 200:
        raise _refusal(name, answer.status, answer.body)
    if len(answer.body) > MAX_MANIFEST:
        raise GsmError(Reason.MANIFEST_TOO_LARGE, f"{name}: its manifest is larger than {MAX_MANIFEST} bytes")
    return answer.body, answer.headers.get("Docker-Content-Digest", "")


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


def _ask(registry_class: Any, name: ImageName, environment: Mapping[str, str], timeout: float) -> _Answer:
    # Without credentials first: only the registry's challenge tells which kind it takes.
    url, insecure = _url(name)
    headers = {"Accept": ", ".join(MEDIA_TYPES)}
    registry = _bounded(registry_class(insecure=insecure), timeout)
    answer = _read(registry.session.get(url, headers=headers, stream=True))
    if answer.status != 401:
        return answer
    basic = answer.headers.get("Www-Authenticate", "").lower().startswith("basic ")
    registry = _bounded(registry_class(insecure=insecure, auth_backend="basic" if basic else "token"), timeout)
    container = registry.get_container(f"{name.registry}/{name.repository}")
    if name.registry == _DOCKER_HUB:
        container.registry = _DOCKER_HUB_LOGIN
    registry.auth.load_configs(container, _docker_configs(environment))
    if basic and not hasattr(registry.auth, "_basic_auth"):
        return answer
    try:
        # The undecorated method: oras would try again for two minutes before it gave up.
        return _read(registry_class.do_request.__wrapped__(registry, url, "GET", headers=dict(headers), stream=True))
    except ValueError:  # "Cannot respond to request for authentication."
        return answer


def _read(response: Any) -> _Answer:
    with closing(response):
        return _Answer(response.status_code, response.headers, response.raw.read(MAX_MANIFEST + 1, decode_content=True))


def _url(name: ImageName) -> tuple[str, bool]:
    host, repository = name.registry, name.repository
    if host == _DOCKER_HUB:  # a name of its own for its registry, and for its own images
        host, repository = "registry-1.docker.io", repository if "/" in repository else f"library/{repository}"
    insecure = urlsplit(f"//{host}").hostname in _LOOPBACK  # as docker and containerd do
    return f"{'http' if insecure else 'https'}://{host}/v2/{repository}/manifests/{name.version}", insecure


def _bounded(registry: Any, timeout: float) -> Any:
    # oras sets no time-out of its own, and a registry that stalls would hold the command for ever.
    registry.session.request = partial(registry.session.request, timeout=timeout)
    return registry


def _docker_configs(environment: Mapping[str, str]) -> list[str]:
    folder = environment.get("DOCKER_CONFIG")
    path = Path(folder, "config.json") if folder else None
    return [str(path)] if path and path.is_file() else []


def _refusal(name: ImageName, status: int, body: bytes) -> GsmError:
    if status == 404 and b"NAME_UNKNOWN" not in body:
        return GsmError(
            Reason.REVISION_NOT_FOUND, f"{name}: the registry has no such tag or digest", hint="check the spelling"
        )
    if status in (401, 403, 404):
        return GsmError(
            Reason.ACCESS_DENIED,
            f"{name} does not exist or is not accessible",
            hint=f"docker login {name.registry}",
        )
    return GsmError(Reason.SOURCE_UNAVAILABLE, f"{name}: the registry answered {status}")


def _short(error: BaseException) -> str:
    # requests wraps what the system said several times over; the innermost one is the reason.
    while (inner := error.__cause__ or error.__context__ or getattr(error, "reason", None)) and isinstance(
        inner, BaseException
    ):
        error = inner
    return str(error) or type(error).__name__
