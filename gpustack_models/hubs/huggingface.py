"""Owns the Hugging Face interface: its requests, what each answer means, its paging.

Refuses Kubernetes, and a listing that hides anything: one masked digest, unknown type or second host ends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote, urljoin

import msgspec

from gpustack_models.core.location import Location, next_page
from gpustack_models.core.manifest import MAX_ENTRIES, Algorithm, Entry, FileDigest
from gpustack_models.core.refs import HubKind, is_commit
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.answers import (
    NOT_ACCESSIBLE,
    SERVER_ERRORS,
    AnswerRow,
    decoded,
    first_file,
    unreadable,
)
from gpustack_models.hubs.base import BaseHub, repository_path
from gpustack_models.hubs.http import Answer, Request
from gpustack_models.hubs.links import next_link
from gpustack_models.hubs.protocol import ListingProgress, TokenState

#: What a gated repository shows in place of a digest: revision and tree answer 200, so this is the only sign.
MASK = "*" * 64
MAX_PAGES = 10_000

#: hubs.md, "Hugging Face", "The hub answers": looked up from the top by HTTP status and X-Error-Code.
ANSWERS: tuple[AnswerRow, ...] = (
    AnswerRow("revision-not-found", Reason.REVISION_NOT_FOUND, "has no such revision", {404}, {"RevisionNotFound"}),
    AnswerRow("gated", Reason.ACCESS_DENIED, NOT_ACCESSIBLE, None, {"GatedRepo"}),
    AnswerRow("unauthorized", Reason.ACCESS_DENIED, NOT_ACCESSIBLE, {401}),
    AnswerRow("forbidden", Reason.ACCESS_DENIED, NOT_ACCESSIBLE, {403}),
    AnswerRow("not-found", Reason.ACCESS_DENIED, NOT_ACCESSIBLE, {404}),
    AnswerRow("rate-limited", Reason.SOURCE_UNAVAILABLE, "the hub is rate-limiting (429)", {429}),
    AnswerRow("server-error", Reason.SOURCE_UNAVAILABLE, "the hub answered with an error ({status})", SERVER_ERRORS),
    AnswerRow("unexpected", Reason.SOURCE_UNAVAILABLE, "the hub answered {status}, which its interface does not know"),
)
#: What the answer to a token's probe says of it; any other status says nothing.
TOKEN_STATES = {200: TokenState.ACCEPTED, 401: TokenState.REJECTED}


class _Revision(msgspec.Struct):
    sha: str


class _Lfs(msgspec.Struct, gc=False):
    oid: str
    size: int


class _TreeEntry(msgspec.Struct, gc=False):
    type: str
    path: str
    size: int
    oid: str
    lfs: _Lfs | None = None


_Page = list[Entry]
_REVISION = msgspec.json.Decoder(_Revision)
_TREE = msgspec.json.Decoder(list[_TreeEntry])


class HuggingFace(BaseHub):
    """Hugging Face, or a hub that speaks its interface."""

    kind = HubKind.HUGGING_FACE
    answers = ANSWERS
    token_states = TOKEN_STATES
    probe_path = "api/whoami-v2"
    log_in_hint = "--token-file, HF_TOKEN or `hf auth login`"

    def resolve(self, repository: str, revision: str) -> str:
        """The commit that a branch, tag (peeled), `refs/pr/N`, commit or short commit names now."""
        name = self._name(repository, revision)
        location = self._at(f"api/models/{repository_path(repository)}/revision/{quote(revision, safe='')}")
        return commit_of(self._asked(Request(name, location), repository).body, name, revision)

    def list(self, repository: str, commit: str, progress: ListingProgress | None = None) -> tuple[Entry, ...]:
        """Every file of a commit, unfiltered, in the hub's order."""
        entries: list[Entry] = []
        for page in self._pages(repository, commit, "?recursive=true"):
            entries += page
            if progress:
                progress(len(entries))
        return tuple(entries)

    def locate(self, repository: str, commit: str, path: str) -> Location:
        """Where a file's bytes are; no request is sent."""
        return self._at(f"{repository_path(repository)}/resolve/{commit}/{quote(path)}")

    def _some_file(self, repository: str, commit: str) -> str | None:
        # The root's first page usually has one; only a repository of folders is listed further.
        at_root = first_file(next(self._pages(repository, commit, "")))
        if at_root is not None:
            return at_root
        return first_file(next((page for page in self._pages(repository, commit, "?recursive=true") if page), ()))

    def _pages(self, repository: str, commit: str, query: str) -> Iterator[_Page]:
        name = self._name(repository, commit)
        location = self._at(f"api/models/{repository_path(repository)}/tree/{commit}{query}")
        asked: set[str] = set()
        listed = 0
        while True:
            if location.url in asked or len(asked) >= MAX_PAGES:
                raise unreadable(name, "its pages never end")
            answer = self._asked(Request(name, location), repository)
            asked.add(location.url)
            entries, count = entries_of(answer.body, name)
            listed += count
            if listed > MAX_ENTRIES:
                raise GsmError(Reason.MANIFEST_TOO_LARGE, f"{name}: more than {MAX_ENTRIES} entries; no more are taken")
            yield entries
            following = self._next(answer, name)
            if following is None:
                return
            location = replace(location, url=following)

    def _next(self, answer: Answer, name: str) -> str | None:
        try:
            link = next_link(answer.headers.get("link", ""))
            # Against the endpoint, not the page: a page that was redirected elsewhere is no reason to stay there.
            return None if link is None else next_page(self.endpoint, urljoin(answer.url, link))
        except ValueError as error:
            raise unreadable(name, f"of its Link header, {error}") from error
        except GsmError as error:
            raise GsmError(error.reason, f"{name}: {error.message}") from error

    def _asked(self, request: Request, repository: str) -> Answer:
        answer = self._http.send(request)
        if answer.status != 200:
            code = answer.headers.get("x-error-code")
            raise self._refusal(request.name, answer, repository, answer.status, code)
        return answer


def commit_of(body: bytes, name: str, revision: str) -> str:
    """The commit in a revision's answer. Raises GsmError(SourceUnavailable) for anything but 40 lowercase hex."""
    commit = decoded(_REVISION, body, name, "a revision with its sha").sha
    if not is_commit(commit):
        raise unreadable(name, f"its sha is {commit!r:.100}, not 40 hexadecimal digits")
    if is_commit(revision) and commit != revision:
        raise unreadable(name, f"it names the commit {commit}")
    return commit


def entries_of(body: bytes, name: str) -> tuple[list[Entry], int]:
    """The files of one page of a tree, and how many entries (folders included) the page has.

    Raises GsmError: AccessDenied (masked), InvalidManifest (an unknown type, an LFS size that is not the entry's),
    SourceUnavailable (not a tree).
    """
    page = decoded(_TREE, body, name, "a tree")
    sha256, gitsha1 = Algorithm.SHA256, Algorithm.GITSHA1
    files = [
        Entry(each.path, each.size, FileDigest(sha256, lfs.oid) if (lfs := each.lfs) else FileDigest(gitsha1, each.oid))
        for each in page
        if each.type == "file"
    ]
    if len(files) != len(page):
        for each in page:
            if each.type not in ("file", "directory"):
                raise _invalid(name, f"{each.path!r:.300} is of the unknown type {each.type!r:.40}")
    for each in page:
        if (lfs := each.lfs) is not None:
            if lfs.oid == MASK:
                raise GsmError(
                    Reason.ACCESS_DENIED,
                    f"{name}: {NOT_ACCESSIBLE} (its listing is masked: it is gated, and nothing was granted)",
                    hint="accept its terms on the hub, with the account whose token is used here",
                )
            if lfs.size != each.size:
                raise _invalid(name, f"{each.path!r:.300} has the size {each.size}, its LFS pointer {lfs.size}")
    return files, len(page)


def _invalid(name: str, what: str) -> GsmError:
    return GsmError(Reason.INVALID_MANIFEST, f"{name}: {what}")
