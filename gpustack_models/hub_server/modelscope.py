"""Owns the ModelScope face of the local hub: each request of its clients, answered as that hub answers it.

Refuses writing; hubs.md, "ModelScope", and the hub's own clients say what an answer looks like.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpustack_models.hub_server import gitwire
from gpustack_models.hub_server import ms_documents as documents
from gpustack_models.hub_server.catalog import Catalog
from gpustack_models.hub_server.content import content
from gpustack_models.hub_server.links import Links
from gpustack_models.hub_server.ms_documents import BAD_TOKEN, NO_ACCESS, NO_FILE_TREE, NOT_FOUND
from gpustack_models.hub_server.repository import MODELSCOPE_BRANCH, Commit, Repository
from gpustack_models.hub_server.settings import Tokens
from gpustack_models.hub_server.wire import Answer, Ask, TokenState, text_answer

#: Where `repo/files` cuts a listing off, without a word.
TRUNCATED_AT = 3000


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
                return documents.failure(404, NOT_FOUND, "not found")
            case (*name, "info", "refs") if name and ask.query.get("service") == "git-upload-pack":
                return self._advertise(ask, "/".join(name).removesuffix(".git"))
            case (*_, "git-upload-pack"):
                return Answer(200, {"Content-Type": gitwire.RESULT}, gitwire.refusal())
            case _:
                return None

    def _model(self, ask: Ask, name: str, verb: str) -> Answer:
        settings = self.catalog.settings(name)
        if settings is None:
            return documents.failure(404, NOT_FOUND, f"model {name} not found")
        if not settings.lists_for(ask.caller):
            return documents.failure(404, NO_ACCESS, f"no access to model {name}")
        handlers: Mapping[str, Callable[[Ask, Repository], Answer]] = {
            "": self._info,
            "commits": self._commits,
            "revisions": self._revisions,
            "repo/files": self._files,
            "repo": self._content,
        }
        if verb not in handlers:
            return documents.failure(404, NOT_FOUND, "not found")
        return handlers[verb](ask, self.catalog.repository(name))

    def _info(self, _ask: Ask, repository: Repository) -> Answer:
        return documents.success(documents.model(repository, _commit(repository, MODELSCOPE_BRANCH)))

    def _commits(self, ask: Ask, repository: Repository) -> Answer:
        # As on the hub, a misspelt parameter asks for the default branch, and an unknown ref is no error.
        commit = _commit(repository, ask.query.get("Ref") or MODELSCOPE_BRANCH)
        return documents.success(documents.history(repository, commit, ask.number("PageSize", 10)))

    def _revisions(self, _ask: Ask, repository: Repository) -> Answer:
        return documents.success(documents.revisions(repository))

    def _files(self, ask: Ask, repository: Repository) -> Answer:
        revision = ask.query.get("Revision") or MODELSCOPE_BRANCH
        commit = _commit(repository, revision)
        root = ask.query.get("Root", "").strip("/")
        if commit is None or root not in commit.trees:
            return documents.failure(404, NO_FILE_TREE, f"no file tree at {revision}/{root}".rstrip("/"))
        paths = commit.below(root, recursive=ask.flag("Recursive"))[: self.truncate_at]
        return documents.success({"Files": [documents.entry(commit, path, revision) for path in paths], "IsVisual": 0})

    def _content(self, ask: Ask, repository: Repository) -> Answer:
        if not repository.settings.reads_for(ask.caller):
            return documents.failure(404, NO_ACCESS, f"no access to model {repository.name}")
        revision, path = ask.query.get("Revision") or MODELSCOPE_BRANCH, ask.query.get("FilePath", "").lstrip("/")
        commit = _commit(repository, revision)
        if commit is None:
            return documents.failure(404, NO_FILE_TREE, f"no file tree at {revision}")
        file = commit.files.get(path)
        if file is None:
            return documents.failure(404, NOT_FOUND, f"no file {path!r} at {revision}")
        if file.lfs and self.links:
            return Answer(302, {"Location": self.links.sign(file, ask.base)})
        return content(ask, file)

    def _advertise(self, ask: Ask, name: str) -> Answer:
        # Asked by anything but git, the hub says that the request was misdirected.
        if not ask.headers.get("user-agent", "").startswith("git/"):
            return text_answer("Misdirected Request\n", 421)
        settings = self.catalog.settings(name)
        if settings is None or not settings.lists_for(ask.caller):
            if ask.caller.state is TokenState.ACCEPTED:
                return text_answer("repository not found\n", 404)
            return Answer(401, {"WWW-Authenticate": 'Basic realm="local hub"', "Content-Type": "text/plain"})
        body = gitwire.advertisement(self.catalog.repository(name), MODELSCOPE_BRANCH)
        return Answer(200, {"Content-Type": gitwire.ADVERTISEMENT, "Cache-Control": "no-cache"}, body)

    def _login(self, ask: Ask) -> Answer:
        try:
            token = json.loads(ask.body)["AccessToken"]
        except (ValueError, KeyError, TypeError):
            token = None
        caller = self.tokens.caller(token if isinstance(token, str) else None)
        if caller.state is not TokenState.ACCEPTED:
            return documents.failure(400, BAD_TOKEN, "AccessToken is invalid or expired")
        answer = documents.success({"AccessToken": token, "Username": caller.name, "Email": ""})
        return answer.with_headers(Set_Cookie=f"m_session_id={token}; Path=/; HttpOnly")

    def _models(self, ask: Ask) -> Answer:
        """The repositories that a caller may see; nothing is hashed for it."""
        owner, search = ask.query.get("owner", ""), ask.query.get("search", "").lower()
        found = []
        for name in self.catalog.names():
            settings = self.catalog.settings(name)
            wanted = owner in {"", name.rpartition("/")[0]} and search in name.lower()
            if settings and wanted and settings.lists_for(ask.caller):
                found.append(documents.summary(name, settings))
        number, size = max(ask.number("page_number", 1), 1), ask.number("page_size", 10)
        page = found[(number - 1) * size : number * size]
        paging = {"total_count": len(found), "page_number": number, "page_size": size}
        return documents.openapi({"models": page, **paging})

    def _openapi_model(self, ask: Ask, name: str) -> Answer:
        settings = self.catalog.settings(name)
        if settings is None or not settings.lists_for(ask.caller):
            return documents.openapi_failure(404, "ResourceNotFound", f"model {name} not found")
        return documents.openapi(documents.summary(name, settings))


def _me(ask: Ask) -> Answer:
    if ask.caller.state is not TokenState.ACCEPTED:
        return documents.openapi_failure(401, "InvalidAuthentication", "invalid token")
    return documents.openapi({"id": ask.caller.name, "username": ask.caller.name, "email": ""})


def _commit(repository: Repository, revision: str) -> Commit | None:
    return repository.resolve(revision, MODELSCOPE_BRANCH)
