"""Owns the ModelScope face of the local hub: each request of its clients, answered as that hub answers it.

Refuses writing; hubs.md, "ModelScope", and the hub's own clients say what an answer looks like.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack_models.hub_server.catalog import Catalog
from gpustack_models.hub_server.content import content
from gpustack_models.hub_server.gitwire import CONTENT_TYPE, advertisement
from gpustack_models.hub_server.links import Links
from gpustack_models.hub_server.repository import MODELSCOPE_BRANCH, Access, Commit, Repository, Settings
from gpustack_models.hub_server.settings import Tokens
from gpustack_models.hub_server.wire import Answer, Ask, TokenState, json_answer, text_answer

NO_FILE_TREE = 10990101004
NOT_FOUND = 10010205001
NO_ACCESS = 10010200001
BAD_TOKEN = 10010103009
#: Where `repo/files` cuts a listing off, without a word.
TRUNCATED_AT = 3000

_VISIBILITY = {Access.PUBLIC: 5, Access.PRIVATE: 1, Access.GATED: 5}


@dataclass(frozen=True)
class ModelScope:
    """Answers requests from a catalog. `links` is None when LFS bytes are answered without a redirect."""

    catalog: Catalog
    tokens: Tokens
    links: Links | None
    truncate_at: int = TRUNCATED_AT

    def answer(self, ask: Ask) -> Answer | None:
        """The answer, or None for a request of another interface."""
        match ask.segments:
            case ("openapi", "v1", "users", "me"):
                return _me(ask)
            case ("openapi", "v1", "models"):
                return self._models(ask)
            case ("openapi", "v1", "models", *name):
                return self._openapi_model(ask, "/".join(name))
            case ("api", "v1", "login"):
                return self._login(ask)
            case ("api", "v1", "models", owner, name, *verb):
                return self._model(ask, f"{owner}/{name}", "/".join(verb))
            case ("api", "v1", *_):
                return _failure(404, NOT_FOUND, "not found")
            case (*name, "info", "refs") if name and ask.query.get("service") == "git-upload-pack":
                return self._advertise(ask, "/".join(name).removesuffix(".git"))
            case (*_, "git-upload-pack"):
                return text_answer("The local hub gives no packs: download with hf, modelscope or gsm.\n", 403)
            case _:
                return None

    def _model(self, ask: Ask, name: str, verb: str) -> Answer:
        settings = self.catalog.settings(name)
        if settings is None:
            return _failure(404, NOT_FOUND, f"model {name} not found")
        if not settings.lists_for(ask.caller):
            return _failure(404, NO_ACCESS, f"no access to model {name}")
        handlers: Mapping[str, Callable[[Ask, Repository], Answer]] = {
            "": self._info,
            "commits": self._commits,
            "revisions": self._revisions,
            "repo/files": self._files,
            "repo": self._content,
        }
        if verb not in handlers:
            return _failure(404, NOT_FOUND, "not found")
        return handlers[verb](ask, self.catalog.repository(name))

    def _info(self, _ask: Ask, repository: Repository) -> Answer:
        commit = _commit(repository, MODELSCOPE_BRANCH)
        owner, _, name = repository.name.rpartition("/")
        return _success(
            {
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
        )

    def _commits(self, ask: Ask, repository: Repository) -> Answer:
        # As on the hub, a misspelt parameter asks for the default branch, and an unknown ref is no error.
        commit = _commit(repository, ask.query.get("Ref") or MODELSCOPE_BRANCH)
        if commit is None:
            return _success({"Commit": None, "TotalCount": 0})
        history = [commit]
        while history[-1].parents:
            history.append(repository.commits[history[-1].parents[0]])
        size = int(ask.query["PageSize"]) if ask.query.get("PageSize", "").isdecimal() else 10
        return _success({"Commit": [_commit_info(one) for one in history[:size]], "TotalCount": len(history)})

    def _revisions(self, _ask: Ask, repository: Repository) -> Answer:
        branches = repository.branches_at(MODELSCOPE_BRANCH).items()
        tags = ((name, tag.commit) for name, tag in sorted(repository.tags.items()))
        return _success(
            {
                "RevisionMap": {
                    "Branches": [_revision(repository, name, commit) for name, commit in branches],
                    "Tags": [_revision(repository, name, commit) for name, commit in tags],
                }
            }
        )

    def _files(self, ask: Ask, repository: Repository) -> Answer:
        revision = ask.query.get("Revision") or MODELSCOPE_BRANCH
        commit = _commit(repository, revision)
        root = ask.query.get("Root", "").strip("/")
        if commit is None or root not in commit.trees:
            return _failure(404, NO_FILE_TREE, f"no file tree at {revision}/{root}".rstrip("/"))
        paths = commit.below(root, recursive=ask.flag("Recursive"))[: self.truncate_at]
        return _success({"Files": [_entry(commit, path, revision) for path in paths], "IsVisual": 0})

    def _content(self, ask: Ask, repository: Repository) -> Answer:
        if not repository.settings.reads_for(ask.caller):
            return _failure(404, NO_ACCESS, f"no access to model {repository.name}")
        commit = _commit(repository, ask.query.get("Revision") or MODELSCOPE_BRANCH)
        if commit is None:
            return _failure(404, NO_FILE_TREE, f"no file tree at {ask.query.get('Revision')}")
        file = commit.files.get(ask.query.get("FilePath", "").lstrip("/"))
        if file is None:
            return _failure(404, NOT_FOUND, f"no file {ask.query.get('FilePath')!r}")
        if file.lfs and self.links:
            return Answer(302, {"Location": self.links.sign(file, ask.base)})
        return content(ask, file)

    def _advertise(self, ask: Ask, name: str) -> Answer:
        # Asked by anything but git, the hub says that it was misdirected.
        if not ask.headers.get("user-agent", "").startswith("git/"):
            return text_answer("Misdirected Request", 421)
        settings = self.catalog.settings(name)
        if settings is None or not settings.lists_for(ask.caller):
            if ask.caller.state is TokenState.ACCEPTED:
                return text_answer("repository not found", 404)
            return Answer(401, {"WWW-Authenticate": 'Basic realm="local hub"', "Content-Type": "text/plain"})
        body = advertisement(self.catalog.repository(name), MODELSCOPE_BRANCH)
        return Answer(200, {"Content-Type": CONTENT_TYPE, "Cache-Control": "no-cache"}, body)

    def _login(self, ask: Ask) -> Answer:
        try:
            asked = json.loads(ask.body)
            token = asked["AccessToken"]
        except (ValueError, KeyError, TypeError):
            return _failure(400, BAD_TOKEN, "AccessToken is missing")
        caller = self.tokens.caller(token if isinstance(token, str) else None)
        if caller.state is not TokenState.ACCEPTED:
            return _failure(400, BAD_TOKEN, "AccessToken is invalid or expired")
        answer = _success({"AccessToken": token, "Username": caller.name, "Email": ""})
        return answer.with_headers(Set_Cookie=f"m_session_id={token}; Path=/; HttpOnly")

    def _models(self, ask: Ask) -> Answer:
        owner, search = ask.query.get("owner", ""), ask.query.get("search", "").lower()
        found = []
        for name in self.catalog.names():
            settings = self.catalog.settings(name)
            if settings and settings.lists_for(ask.caller) and owner in {"", name.rpartition("/")[0]}:
                found.append(_openapi_info(name, settings))
        found = [item for item in found if search in item["id"].lower()]
        number, size = (int(ask.query.get(key, "") or default) for key, default in _PAGING)
        page = found[(number - 1) * size : number * size]
        listed = {"models": page, "total_count": len(found), "page_number": number, "page_size": size}
        return json_answer({"success": True, "data": listed})

    def _openapi_model(self, ask: Ask, name: str) -> Answer:
        settings = self.catalog.settings(name)
        if settings is None or not settings.lists_for(ask.caller):
            return json_answer(
                {"success": False, "code": "ResourceNotFound", "message": f"model {name} not found"}, 404
            )
        return json_answer({"success": True, "data": _openapi_info(name, settings)})


_PAGING = (("page_number", "1"), ("page_size", "10"))


def _me(ask: Ask) -> Answer:
    if ask.caller.state is not TokenState.ACCEPTED:
        return json_answer({"success": False, "code": "InvalidAuthentication", "message": "invalid token"}, 401)
    return json_answer({"success": True, "data": {"id": ask.caller.name, "username": ask.caller.name, "email": ""}})


def _success(data: Any) -> Answer:
    return json_answer({"Code": 200, "Data": data, "Message": "success", "RequestId": "local-hub", "Success": True})


def _failure(status: int, code: int, message: str) -> Answer:
    body = {"Code": code, "Data": None, "Message": message, "RequestId": "local-hub", "Success": False}
    return json_answer(body, status)


def _commit(repository: Repository, revision: str) -> Commit | None:
    return repository.resolve(revision, MODELSCOPE_BRANCH)


def _commit_info(commit: Commit) -> dict[str, Any]:
    title = commit.message.partition("\n")[0]
    return {
        "Id": commit.id,
        "ShortId": commit.id[:8],
        "Title": title,
        "Message": commit.message,
        "AuthorName": "local hub",
        "CommitterName": "local hub",
        "CommittedDate": commit.seconds,
        "AuthoredDate": commit.seconds,
        "CreatedAt": commit.seconds,
        "ParentIds": list(commit.parents),
    }


def _revision(repository: Repository, name: str, commit: str) -> dict[str, Any]:
    return {"Revision": name, "CreatedAt": repository.commits[commit].seconds, "CommitId": commit}


def _entry(commit: Commit, path: str, revision: str) -> dict[str, Any]:
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


def _openapi_info(name: str, settings: Settings) -> dict[str, Any]:
    owner, _, bare = name.rpartition("/")
    private, gated = settings.access is Access.PRIVATE, settings.access is Access.GATED
    return {"id": name, "owner": owner, "name": bare, "display_name": bare, "private": private, "gated": gated}
