"""Owns the web addresses of models that a person copies from a browser: which hub, repository and revision they name.

Refuses to guess: an address of anything but a model on a known hub is described, not normalised.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

HUGGING_FACE_HOSTS = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})
MODEL_SCOPE_HOSTS = frozenset({"modelscope.cn", "www.modelscope.cn", "modelscope.ai", "www.modelscope.ai"})

#: The pages of a repository whose next segments are a revision and a path. ModelScope's `file/view` is one page.
_HUGGING_FACE_PAGES = frozenset({"tree", "blob", "resolve", "raw", "commit", "commits"})
_MODEL_SCOPE_PAGES = frozenset({"tree", "file", "files", "resolve", "summary"})
_NOT_MODELS = frozenset({"datasets", "spaces", "studios", "collections", "papers", "docs"})


@dataclass(frozen=True, slots=True)
class WebAddress:
    """What an address names, unchecked: the hub by its host, a repository, a revision or an empty string."""

    model_scope: bool
    repository: str
    revision: str


def read(text: str) -> WebAddress | str:
    """Read an address; a string is what is wrong with it (hubs.md, "Source references")."""
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").lower()
    except ValueError:
        return "it is not a web address"
    segments = [unquote(segment) for segment in parts.path.split("/") if segment]
    model_scope = host in MODEL_SCOPE_HOSTS
    if not model_scope and host not in HUGGING_FACE_HOSTS:
        return "it is not the address of a model on a known hub"
    if segments[:1] == ["models"]:
        del segments[0]
    elif model_scope or segments[0:1] == [] or segments[0] in _NOT_MODELS:
        return f"it names one of the hub's {segments[0]}, not a model" if segments else "it names no model"
    page = _page(segments, _MODEL_SCOPE_PAGES if model_scope else _HUGGING_FACE_PAGES)
    tail = segments[page + 1 :]
    if model_scope and tail[:1] == ["view"]:
        del tail[0]
    return WebAddress(model_scope, "/".join(segments[:page]), _revision(tail) or _asked(parts.query))


def _page(segments: list[str], pages: frozenset[str]) -> int:
    # owner/name first: a repository may be called like a page.
    return next(
        (index for index in (2, 1) if len(segments) > max(index, 2) and segments[index] in pages), len(segments)
    )


def _revision(tail: list[str]) -> str:
    # A browser shows refs/pr/3 with plain slashes; any other branch is one segment, followed by the path of a file.
    if tail[:1] == ["refs"]:
        return "/".join(tail[:3])
    return tail[0] if tail else ""


def _asked(query: str) -> str:
    asked = parse_qs(query)
    return next((asked[key][0] for key in ("version", "revision") if key in asked), "")
