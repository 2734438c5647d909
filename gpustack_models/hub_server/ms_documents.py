"""Owns the documents of the ModelScope interface: its envelope, and what goes into it.

Refuses to decide which of them is due; `modelscope.py` does.
"""

from __future__ import annotations

from typing import Any

from gpustack_models.hub_server.repository import MODELSCOPE_BRANCH, Access, Commit, Repository, Settings
from gpustack_models.hub_server.wire import Answer, json_answer

NO_FILE_TREE = 10990101004
NOT_FOUND = 10010205001
NO_ACCESS = 10010200001
BAD_TOKEN = 10010103009

_VISIBILITY = {Access.PUBLIC: 5, Access.PRIVATE: 1, Access.GATED: 5}


def success(data: Any) -> Answer:
    """Data in the hub's envelope."""
    return json_answer({"Code": 200, "Data": data, "Message": "success", "RequestId": "local-hub", "Success": True})


def failure(status: int, code: int, message: str) -> Answer:
    """An error in the hub's envelope: `code` says what it is, the status only how it travels."""
    body = {"Code": code, "Data": None, "Message": message, "RequestId": "local-hub", "Success": False}
    return json_answer(body, status)


def openapi(data: Any) -> Answer:
    """Data in the envelope of the `/openapi` interface."""
    return json_answer({"success": True, "data": data})


def openapi_failure(status: int, code: str, message: str) -> Answer:
    """An error in the envelope of the `/openapi` interface."""
    return json_answer({"success": False, "code": code, "message": message}, status)


def model(repository: Repository, commit: Commit | None) -> dict[str, Any]:
    """A model."""
    owner, _, name = repository.name.rpartition("/")
    return {
        "Path": owner,
        "Name": name,
        "Visibility": _VISIBILITY[repository.settings.access],
        "Revision": MODELSCOPE_BRANCH,
        "StorageSize": sum(file.size for file in commit.files.values()) if commit else 0,
        "CreatedTime": commit.seconds if commit else 0,
        "LastUpdatedTime": commit.seconds if commit else 0,
        "Downloads": 0,
        "Stars": 0,
        "License": "",
    }


def summary(name: str, settings: Settings) -> dict[str, Any]:
    """A model of the `/openapi` interface."""
    owner, _, bare = name.rpartition("/")
    private, gated = settings.access is Access.PRIVATE, settings.access is Access.GATED
    return {"id": name, "owner": owner, "name": bare, "display_name": bare, "private": private, "gated": gated}


def history(repository: Repository, commit: Commit | None, most: int) -> dict[str, Any]:
    """A commit and those before it, newest first; a null, not an error, when the ref names none."""
    if commit is None:
        return {"Commit": None, "TotalCount": 0}
    listed = [commit]
    while listed[-1].parents:
        listed.append(repository.commits[listed[-1].parents[0]])
    return {"Commit": [_commit(one) for one in listed[:most]], "TotalCount": len(listed)}


def revisions(repository: Repository) -> dict[str, Any]:
    """Branches and tags, tags peeled."""
    branches = repository.branches_at(MODELSCOPE_BRANCH).items()
    tags = ((name, tag.commit) for name, tag in sorted(repository.tags.items()))
    listed = {"Branches": branches, "Tags": tags}
    return {
        "RevisionMap": {
            kind: [
                {"Revision": name, "CreatedAt": repository.commits[commit].seconds, "CommitId": commit}
                for name, commit in named
            ]
            for kind, named in listed.items()
        }
    }


def entry(commit: Commit, path: str, revision: str) -> dict[str, Any]:
    """One entry of a listing; every file has its SHA-256, a folder an empty one."""
    file = commit.files.get(path)
    return {
        "CommitId": commit.id,
        "CommitMessage": commit.message.partition("\n")[0],
        "CommittedDate": commit.seconds,
        "CommitterName": "local hub",
        "InCheck": False,
        "IsLFS": file.lfs if file else False,
        "Mode": "33188" if file else "16384",
        "Name": path.rpartition("/")[2],
        "Path": path,
        "Revision": revision,
        "Sha256": file.sha256 if file else "",
        "Size": file.size if file else 0,
        "Type": "blob" if file else "tree",
    }


def _commit(commit: Commit) -> dict[str, Any]:
    return {
        "Id": commit.id,
        "ShortId": commit.id[:8],
        "Title": commit.message.partition("\n")[0],
        "Message": commit.message,
        "AuthorName": "local hub",
        "CommitterName": "local hub",
        "AuthoredDate": commit.seconds,
        "CommittedDate": commit.seconds,
        "CreatedAt": commit.seconds,
        "ParentIds": list(commit.parents),
    }
