"""Owns the Hugging Face face of the local hub: each request of its clients, answered as that hub answers it.

Refuses writing; hubs.md, "Hugging Face", and the hub's own clients say what an answer looks like.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, urlencode

from gpustack_models.hub_server import hf_documents as documents
from gpustack_models.hub_server.catalog import Catalog
from gpustack_models.hub_server.content import content
from gpustack_models.hub_server.links import Links
from gpustack_models.hub_server.repository import HUGGING_FACE_BRANCH, Commit, Repository
from gpustack_models.hub_server.wire import Answer, Ask, TokenState, json_answer, text_answer

#: With `expand` the hub answers at most this many entries a page.
EXPANDED_PAGE = 50
_VERBS = frozenset({"revision", "tree", "refs", "paths-info", "commits", "auth-check"})


@dataclass(frozen=True)
class HuggingFace:
    """Answers requests from a catalog. `links` is None when LFS bytes are answered without a redirect."""

    catalog: Catalog
    links: Links | None
    page_size: int = 1000

    def answer(self, ask: Ask) -> Answer | None:
        """The answer, or None for a request of another interface."""
        match ask.segments:
            case ("api", "whoami-v2"):
                known = ask.caller.state is TokenState.ACCEPTED
                return json_answer(documents.user(ask.caller.name)) if known else documents.unauthorized(ask)
            case ("api", "models"):
                return self._models(ask)
            case ("api", "models", *rest):
                return self._model(ask, tuple(rest))
            case _ if "resolve" in ask.segments[1:3]:
                verb = ask.segments.index("resolve", 1)
                return self._resolve(ask, "/".join(ask.segments[:verb]), ask.segments[verb + 1 :])
            case _:
                return None

    def _models(self, ask: Ask) -> Answer:
        """The repositories that a caller may see; nothing is hashed for it."""
        author, search = ask.query.get("author", ""), ask.query.get("search", "").lower()
        found = []
        for name in self.catalog.names():
            settings = self.catalog.settings(name)
            wanted = author in {"", name.rpartition("/")[0]} and search in name.lower()
            if settings and wanted and settings.lists_for(ask.caller):
                found.append(documents.summary(name, settings))
        return json_answer(found[: ask.number("limit", len(found))])

    def _model(self, ask: Ask, rest: tuple[str, ...]) -> Answer:
        name, verb, arguments = self._split(rest)
        settings = self.catalog.settings(name)
        if settings is None or not settings.lists_for(ask.caller):
            return documents.no_repository(ask)
        if verb == "auth-check":
            return json_answer({}) if settings.reads_for(ask.caller) else documents.gated(ask, name)
        repository = self.catalog.repository(name)
        if verb == "refs":
            return json_answer(documents.refs(repository, pulls=ask.flag("include_prs")))
        handlers: Mapping[str, Callable[[Ask, Repository, Commit, str], Answer]] = {
            "revision": self._info,
            "tree": self._tree,
            "paths-info": self._paths_info,
            "commits": self._commits,
        }
        if verb not in handlers:
            return text_answer("Not Found\n", 404)
        revision, path = _revision_and_path(arguments)
        commit = _commit(repository, revision)
        return handlers[verb](ask, repository, commit, path) if commit else documents.no_revision(revision)

    def _split(self, rest: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
        """The repository's name, the verb and what follows it: `gpt2/tree/main` and `org/name/tree/main` alike."""
        bare = len(rest) == 1 or (rest[1] in _VERBS and self.catalog.settings(rest[0]) is not None)
        parts = 1 if bare else 2
        name, verb, arguments = "/".join(rest[:parts]), rest[parts : parts + 1], rest[parts + 1 :]
        return name, verb[0] if verb else "revision", arguments or (HUGGING_FACE_BRANCH,)

    def _info(self, ask: Ask, repository: Repository, commit: Commit, _path: str) -> Answer:
        masked = not repository.settings.reads_for(ask.caller)
        return json_answer(documents.model(repository, commit, blobs=ask.flag("blobs"), masked=masked))

    def _tree(self, ask: Ask, repository: Repository, commit: Commit, path: str) -> Answer:
        folder = path.strip("/")
        if folder not in commit.trees:
            return documents.no_entry(f"{folder} does not exist")
        expand = ask.flag("expand")
        most = min(self.page_size, EXPANDED_PAGE) if expand else self.page_size
        size = min(ask.number("limit", most) or most, most)
        start = _offset(ask.query.get("cursor", ""))
        paths = commit.below(folder, recursive=ask.flag("recursive"))
        masked = not repository.settings.reads_for(ask.caller)
        listed = documents.entries(commit, paths[start : start + size], masked=masked, expand=expand)
        headers = {}
        if start + size < len(paths):
            query = urlencode({**ask.query, "cursor": _cursor(start + size)})
            target = "/".join(quote(segment, safe="") for segment in ask.segments)
            headers["Link"] = f'<{ask.base}/{target}?{query}>; rel="next"'
        return json_answer(listed, headers=headers)

    def _paths_info(self, ask: Ask, repository: Repository, commit: Commit, _path: str) -> Answer:
        form = parse_qs(ask.body.decode("utf-8", "replace"))
        paths = [path for path in form.get("paths", []) if path in commit.files or (path and path in commit.trees)]
        expand = form.get("expand", [""])[0].lower() == "true"
        masked = not repository.settings.reads_for(ask.caller)
        return json_answer(documents.entries(commit, paths, masked=masked, expand=expand))

    def _commits(self, _ask: Ask, repository: Repository, commit: Commit, _path: str) -> Answer:
        return json_answer(documents.history(repository, commit))

    def _resolve(self, ask: Ask, name: str, arguments: tuple[str, ...]) -> Answer:
        settings = self.catalog.settings(name)
        if settings is None or not settings.lists_for(ask.caller):
            return documents.no_repository(ask)
        if not settings.reads_for(ask.caller):
            return documents.gated(ask, name)
        revision, path = _revision_and_path(arguments)
        commit = _commit(self.catalog.repository(name), revision)
        if commit is None:
            return documents.no_revision(revision)
        known = {"X-Repo-Commit": commit.id}
        file = commit.files.get(path)
        if file is None:
            return documents.no_entry("Entry not found").with_headers(**known)
        if file.lfs:
            known |= {"X-Linked-ETag": f'"{file.sha256}"', "X-Linked-Size": str(file.size)}
        if file.lfs and self.links:
            location = self.links.sign(file, ask.base)
            return Answer(302, {**known, "Location": location}, f"Found. Redirecting to {location}".encode())
        return content(ask, file, known)


def _commit(repository: Repository, revision: str) -> Commit | None:
    return repository.resolve(revision, HUGGING_FACE_BRANCH, short=True)


def _revision_and_path(arguments: tuple[str, ...]) -> tuple[str, str]:
    # `refs/pr/1` is one encoded segment from a careful client; the hub takes the plain form as well.
    parts = 3 if arguments[:2] == ("refs", "pr") else 1
    return "/".join(arguments[:parts]), "/".join(arguments[parts:])


def _cursor(offset: int) -> str:
    return base64.urlsafe_b64encode(f"from:{offset}".encode()).decode()


def _offset(cursor: str) -> int:
    try:
        found = re.fullmatch(rb"from:([0-9]{1,9})", base64.urlsafe_b64decode(cursor))
    except ValueError:
        found = None
    return int(found[1]) if found else 0
