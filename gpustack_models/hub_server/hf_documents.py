"""Owns the documents of the Hugging Face interface: a model, its entries, its refs, and errors with their codes.

Refuses to decide which of them is due; `huggingface.py` does.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from gpustack_models.hub_server.repository import HUGGING_FACE_BRANCH, Access, Commit, File, Repository, Settings
from gpustack_models.hub_server.wire import Answer, Ask, TokenState, header_text, json_answer

#: What a gated repository shows in place of an LFS file's SHA-256 to whoever has no grant.
MASK = "*" * 64
_ABSENT = "Invalid username or password."
_REJECTED = "Invalid credentials in Authorization header"
_TOKEN = {"type": "access_token", "accessToken": {"displayName": "local hub", "role": "read"}}


def user(name: str) -> dict[str, Any]:
    """What `whoami-v2` says of a token."""
    return {"type": "user", "id": name, "name": name, "fullname": name, "isPro": False, "orgs": [], "auth": _TOKEN}


def summary(name: str, settings: Settings) -> dict[str, Any]:
    """A model in a list of models."""
    return {"id": name, "modelId": name, **_visibility(settings), "tags": [], "downloads": 0, "likes": 0}


def model(repository: Repository, commit: Commit, *, blobs: bool, masked: bool) -> dict[str, Any]:
    """A model at a commit; with `blobs`, each file's size and ids too."""
    siblings = [{"rfilename": path, **(_blob(file, masked) if blobs else {})} for path, file in commit.files.items()]
    return {
        **summary(repository.name, repository.settings),
        "author": repository.name.rpartition("/")[0],
        "sha": commit.id,
        "lastModified": _time(commit),
        "createdAt": _time(commit),
        "disabled": False,
        "siblings": siblings,
        "usedStorage": sum(file.size for file in commit.files.values()),
    }


def entries(commit: Commit, paths: Iterable[str], *, masked: bool, expand: bool) -> list[dict[str, Any]]:
    """Entries of a tree, in the order of the paths."""
    more: dict[str, Any] = {"lastCommit": _commit(commit)} if expand else {}
    listed: list[dict[str, Any]] = []
    for path in paths:
        file = commit.files.get(path)
        if file is None:
            listed.append({"type": "directory", "oid": commit.trees[path], "size": 0, "path": path, **more})
            continue
        entry: dict[str, Any] = {"type": "file", "oid": file.blob, "size": file.size, "path": path, **more}
        if file.lfs:
            oid = MASK if masked else file.sha256
            entry["lfs"] = {"oid": oid, "size": file.size, "pointerSize": file.pointer_size}
        listed.append(entry)
    return listed


def refs(repository: Repository, *, pulls: bool) -> dict[str, Any]:
    """Branches and tags. This document does not peel: an annotated tag shows its own object's id."""
    branches = repository.branches_at(HUGGING_FACE_BRANCH).items()
    known = {
        "branches": [_ref(name, f"refs/heads/{name}", commit) for name, commit in branches],
        "converts": [],
        "tags": [_ref(name, f"refs/tags/{name}", tag.object) for name, tag in sorted(repository.tags.items())],
    }
    if pulls:
        numbered = sorted(repository.pulls.items())
        known["pullRequests"] = [_ref(str(number), f"refs/pr/{number}", commit) for number, commit in numbered]
    return known


def history(repository: Repository, commit: Commit) -> list[dict[str, Any]]:
    """A commit and those before it, newest first."""
    listed = [commit]
    while listed[-1].parents:
        listed.append(repository.commits[listed[-1].parents[0]])
    return [{**_commit(one), "message": "", "authors": [{"user": "local hub"}]} for one in listed]


def unauthorized(ask: Ask) -> Answer:
    """401: no token, or one that the tokens file does not have."""
    rejected = ask.caller.state is TokenState.REJECTED
    return _error(401, _REJECTED if rejected else _ABSENT)


def no_repository(ask: Ask) -> Answer:
    """A missing repository and one that the caller may not see: only an accepted token gets a 404, as on the hub."""
    match ask.caller.state:
        case TokenState.ACCEPTED:
            return _error(404, "Repository not found", "RepoNotFound")
        case TokenState.ABSENT:
            return _error(401, _ABSENT, "RepoNotFound")
        case TokenState.REJECTED:
            return unauthorized(ask)


def gated(ask: Ask, name: str) -> Answer:
    """A gated repository's contents, without a grant."""
    if ask.caller.state is not TokenState.ACCEPTED:
        text = "You must have access to it and be authenticated to access it. Please log in."
        return _error(401, f"Access to model {name} is restricted. {text}", "GatedRepo")
    text = f"Access to model {name} is restricted and you are not in the authorized list."
    return _error(403, f"{text} Ask whoever runs this hub for access.", "GatedRepo")


def no_revision(revision: str) -> Answer:
    """No branch, tag or commit of that name."""
    return _error(404, f"Invalid rev id: {revision}", "RevisionNotFound")


def no_entry(message: str) -> Answer:
    """No file or folder of that path."""
    return _error(404, message, "EntryNotFound")


def _error(status: int, message: str, code: str = "") -> Answer:
    coded = {"X-Error-Code": code} if code else {}
    return json_answer({"error": message}, status, {**coded, "X-Error-Message": header_text(message)})


def _blob(file: File, masked: bool) -> dict[str, Any]:
    known: dict[str, Any] = {"blobId": file.blob, "size": file.size}
    if file.lfs:
        sha256 = MASK if masked else file.sha256
        known["lfs"] = {"sha256": sha256, "size": file.size, "pointerSize": file.pointer_size}
    return known


def _visibility(settings: Settings) -> dict[str, Any]:
    manual = "manual" if settings.access is Access.GATED else False
    return {"private": settings.access is Access.PRIVATE, "gated": manual}


def _ref(name: str, ref: str, target: str) -> dict[str, str]:
    return {"name": name, "ref": ref, "targetCommit": target}


def _commit(commit: Commit) -> dict[str, Any]:
    return {"id": commit.id, "title": commit.message.partition("\n")[0], "date": _time(commit)}


def _time(commit: Commit) -> str:
    return datetime.fromtimestamp(commit.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
