"""Owns the Hugging Face face of the local hub: each request of its clients, answered as that hub answers it.

Refuses writing; hubs.md, "Hugging Face", and the hub's own clients say what an answer looks like.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from gpustack_models.hub_server.catalog import Catalog
from gpustack_models.hub_server.content import content
from gpustack_models.hub_server.links import Links
from gpustack_models.hub_server.repository import HUGGING_FACE_BRANCH, Access, Commit, File, Repository, Settings
from gpustack_models.hub_server.wire import Answer, Ask, TokenState, json_answer, text_answer

MASK = "*" * 64
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
                return _whoami(ask)
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
        limit = int(ask.query["limit"]) if ask.query.get("limit", "").isdecimal() else None
        found = []
        for name in self.catalog.names():
            settings = self.catalog.settings(name)
            owner = name.rpartition("/")[0]
            if settings and settings.lists_for(ask.caller) and author in {"", owner} and search in name.lower():
                found.append({"id": name, "modelId": name, **_visibility(settings), "tags": [], "downloads": 0})
        return json_answer(found[:limit])

    def _model(self, ask: Ask, rest: tuple[str, ...]) -> Answer:
        name, verb, arguments = self._split(rest)
        settings = self.catalog.settings(name)
        if settings is None or not settings.lists_for(ask.caller):
            return _no_repository(ask)
        if verb == "auth-check":
            return json_answer({}) if settings.reads_for(ask.caller) else _gated(ask, name)
        handlers: Mapping[str, Callable[[Ask, Repository, tuple[str, ...]], Answer]] = {
            "revision": self._info,
            "tree": self._tree,
            "refs": self._refs,
            "paths-info": self._paths_info,
            "commits": self._commits,
        }
        if verb not in handlers:
            return text_answer("Not Found", 404)
        return handlers[verb](ask, self.catalog.repository(name), arguments)

    def _split(self, rest: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
        """The repository's name, the verb and what follows it: `gpt2/tree/main` and `org/name/tree/main` alike."""
        legacy = len(rest) == 1 or (rest[1] in _VERBS and self.catalog.settings(rest[0]) is not None)
        parts = 1 if legacy else 2
        name, verb, arguments = "/".join(rest[:parts]), rest[parts : parts + 1], rest[parts + 1 :]
        return name, verb[0] if verb else "revision", arguments or (HUGGING_FACE_BRANCH,)

    def _info(self, ask: Ask, repository: Repository, arguments: tuple[str, ...]) -> Answer:
        revision = "/".join(arguments)
        commit = _commit(repository, revision)
        if commit is None:
            return _no_revision(revision)
        masked = not repository.settings.reads_for(ask.caller)
        siblings = [
            {"rfilename": path, **(_blob(file, masked) if ask.flag("blobs") else {})}
            for path, file in commit.files.items()
        ]
        return json_answer(
            {
                "id": repository.name,
                "modelId": repository.name,
                "author": repository.name.rpartition("/")[0],
                "sha": commit.id,
                "lastModified": _time(commit),
                "createdAt": _time(commit),
                **_visibility(repository.settings),
                "disabled": False,
                "tags": [],
                "downloads": 0,
                "likes": 0,
                "siblings": siblings,
                "usedStorage": sum(file.size for file in commit.files.values()),
            }
        )

    def _tree(self, ask: Ask, repository: Repository, arguments: tuple[str, ...]) -> Answer:
        revision, path = _revision_and_path(arguments)
        folder = path.strip("/")
        commit = _commit(repository, revision)
        if commit is None:
            return _no_revision(revision)
        if folder not in commit.trees:
            return _no_entry(f"{folder} does not exist on {revision!r}")
        expand = ask.flag("expand")
        asked = int(ask.query["limit"]) if ask.query.get("limit", "").isdecimal() else self.page_size
        size = max(min(asked, self.page_size, EXPANDED_PAGE if expand else self.page_size), 1)
        start = _offset(ask.query.get("cursor", ""))
        paths = commit.below(folder, recursive=ask.flag("recursive"))
        masked = not repository.settings.reads_for(ask.caller)
        entries = _entries(commit, paths[start : start + size], masked=masked, expand=expand)
        headers = {}
        if start + size < len(paths):
            query = urlencode({**ask.query, "cursor": _cursor(start + size)})
            target = "/".join(quote(segment, safe="") for segment in ask.segments)
            headers["Link"] = f'<{ask.base}/{target}?{query}>; rel="next"'
        return json_answer(entries, headers=headers)

    def _refs(self, ask: Ask, repository: Repository, _arguments: tuple[str, ...]) -> Answer:
        # This endpoint does not peel: an annotated tag shows its own object's id.
        branches = repository.branches_at(HUGGING_FACE_BRANCH).items()
        refs = {
            "branches": [
                {"name": name, "ref": f"refs/heads/{name}", "targetCommit": commit} for name, commit in branches
            ],
            "converts": [],
            "tags": [
                {"name": name, "ref": f"refs/tags/{name}", "targetCommit": tag.object}
                for name, tag in sorted(repository.tags.items())
            ],
        }
        if ask.flag("include_prs"):
            refs["pullRequests"] = [
                {"name": str(number), "ref": f"refs/pr/{number}", "targetCommit": commit}
                for number, commit in sorted(repository.pulls.items())
            ]
        return json_answer(refs)

    def _paths_info(self, ask: Ask, repository: Repository, arguments: tuple[str, ...]) -> Answer:
        revision = "/".join(arguments)
        commit = _commit(repository, revision)
        if commit is None:
            return _no_revision(revision)
        form = parse_qs(ask.body.decode("utf-8", "replace"))
        paths = [path for path in form.get("paths", []) if path in commit.files or (path and path in commit.trees)]
        expand = form.get("expand", [""])[0].lower() == "true"
        masked = not repository.settings.reads_for(ask.caller)
        return json_answer(_entries(commit, paths, masked=masked, expand=expand))

    def _commits(self, _ask: Ask, repository: Repository, arguments: tuple[str, ...]) -> Answer:
        revision = "/".join(arguments)
        commit = _commit(repository, revision)
        if commit is None:
            return _no_revision(revision)
        history = [commit]
        while history[-1].parents:
            history.append(repository.commits[history[-1].parents[0]])
        return json_answer(
            [{**_last_commit(one), "message": "", "authors": [{"user": "local hub"}]} for one in history]
        )

    def _resolve(self, ask: Ask, name: str, arguments: tuple[str, ...]) -> Answer:
        settings = self.catalog.settings(name)
        if settings is None or not settings.lists_for(ask.caller):
            return _no_repository(ask)
        if not settings.reads_for(ask.caller):
            return _gated(ask, name)
        revision, path = _revision_and_path(arguments)
        commit = _commit(self.catalog.repository(name), revision)
        if commit is None:
            return _no_revision(revision)
        known = {"X-Repo-Commit": commit.id}
        file = commit.files.get(path)
        if file is None:
            return _no_entry("Entry not found").with_headers(**known)
        if file.lfs:
            known |= {"X-Linked-ETag": f'"{file.sha256}"', "X-Linked-Size": str(file.size)}
        if file.lfs and self.links:
            location = self.links.sign(file, ask.base)
            return Answer(302, {**known, "Location": location}, f"Found. Redirecting to {location}".encode())
        return content(ask, file, known)


def _whoami(ask: Ask) -> Answer:
    if ask.caller.state is not TokenState.ACCEPTED:
        return _unauthorized(ask)
    token = {"displayName": "local hub", "role": "read"}
    known = {"id": ask.caller.name, "name": ask.caller.name, "fullname": ask.caller.name, "type": "user"}
    return json_answer({**known, "isPro": False, "orgs": [], "auth": {"type": "access_token", "accessToken": token}})


def _commit(repository: Repository, revision: str) -> Commit | None:
    return repository.resolve(revision, HUGGING_FACE_BRANCH, short=True)


def _revision_and_path(arguments: tuple[str, ...]) -> tuple[str, str]:
    # `refs/pr/1` is one encoded segment from a careful client; the hub takes the plain form as well.
    parts = 3 if arguments[:2] == ("refs", "pr") else 1
    return "/".join(arguments[:parts]), "/".join(arguments[parts:])


def _entries(commit: Commit, paths: Iterable[str], *, masked: bool, expand: bool) -> list[dict[str, Any]]:
    more: dict[str, Any] = {"lastCommit": _last_commit(commit)} if expand else {}
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


def _blob(file: File, masked: bool) -> dict[str, Any]:
    known: dict[str, Any] = {"blobId": file.blob, "size": file.size}
    if file.lfs:
        sha256 = MASK if masked else file.sha256
        known["lfs"] = {"sha256": sha256, "size": file.size, "pointerSize": file.pointer_size}
    return known


def _visibility(settings: Settings) -> dict[str, Any]:
    gated = "manual" if settings.access is Access.GATED else False
    return {"private": settings.access is Access.PRIVATE, "gated": gated}


def _last_commit(commit: Commit) -> dict[str, Any]:
    return {"id": commit.id, "title": commit.message.partition("\n")[0], "date": _time(commit)}


def _time(commit: Commit) -> str:
    return datetime.fromtimestamp(commit.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _cursor(offset: int) -> str:
    return base64.urlsafe_b64encode(f"from:{offset}".encode()).decode()


def _offset(cursor: str) -> int:
    try:
        found = re.fullmatch(rb"from:(\d{1,9})", base64.urlsafe_b64decode(cursor))
    except ValueError:
        found = None
    return int(found[1]) if found else 0


def _error(status: int, message: str, code: str = "") -> Answer:
    # A header carries no more than ASCII.
    headers = {"X-Error-Message": message.encode("ascii", "backslashreplace").decode()}
    return json_answer({"error": message}, status, {**({"X-Error-Code": code} if code else {}), **headers})


def _unauthorized(ask: Ask) -> Answer:
    rejected = ask.caller.state is TokenState.REJECTED
    return _error(401, "Invalid credentials in Authorization header" if rejected else "Invalid username or password.")


def _no_repository(ask: Ask) -> Answer:
    # Without a good token, a missing repository and a private one are told apart by nobody.
    if ask.caller.state is not TokenState.ACCEPTED:
        return _unauthorized(ask)
    return _error(404, "Repository not found", "RepoNotFound")


def _gated(ask: Ask, name: str) -> Answer:
    if ask.caller.state is not TokenState.ACCEPTED:
        text = "You must have access to it and be authenticated to access it. Please log in."
        return _error(401, f"Access to model {name} is restricted. {text}", "GatedRepo")
    text = f"Access to model {name} is restricted and you are not in the authorized list."
    return _error(403, f"{text} Ask whoever runs this hub for access.", "GatedRepo")


def _no_revision(revision: str) -> Answer:
    return _error(404, f"Invalid rev id: {revision}", "RevisionNotFound")


def _no_entry(message: str) -> Answer:
    return _error(404, message, "EntryNotFound")
