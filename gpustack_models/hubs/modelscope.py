"""Owns the ModelScope interface: its requests, its envelope, what each answer means, the cross-check with its git.

Refuses Kubernetes, and a commit that the hub's index and the hub's git do not agree on.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from itertools import count
from urllib.parse import quote, urlencode

import msgspec

from gpustack_models.core.location import Location
from gpustack_models.core.manifest import Entry
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
from gpustack_models.hubs.gitrefs import commit_named, refs_of
from gpustack_models.hubs.http import USER_AGENT, Answer, Request
from gpustack_models.hubs.modelscope_walk import RepoFile, files_of, walk
from gpustack_models.hubs.protocol import ListingProgress, TokenState

NO_FILE_TREE = 10990101004
NOT_FOUND = 10010205001
NO_ACCESS = 10010200001
_GIT_USER_AGENT = f"git/2.43.0 ({USER_AGENT})"

#: hubs.md, "ModelScope", "The hub answers": looked up from the top by the envelope's code, and by the status, which is
#: the code where that is an HTTP one, and the HTTP status where it is not.
ANSWERS: tuple[AnswerRow, ...] = (
    AnswerRow("no-file-tree", Reason.REVISION_NOT_FOUND, "has no such revision", None, {NO_FILE_TREE}),
    AnswerRow("not-found", Reason.ACCESS_DENIED, NOT_ACCESSIBLE, None, {NOT_FOUND}),
    AnswerRow("no-access", Reason.ACCESS_DENIED, NOT_ACCESSIBLE, None, {NO_ACCESS}),
    AnswerRow("refused", Reason.ACCESS_DENIED, NOT_ACCESSIBLE, {401, 403, 404}),
    AnswerRow("rate-limited", Reason.SOURCE_UNAVAILABLE, "the hub is rate-limiting (429)", {429}),
    AnswerRow("server-error", Reason.SOURCE_UNAVAILABLE, "the hub answered with an error ({status})", SERVER_ERRORS),
    AnswerRow("unexpected", Reason.SOURCE_UNAVAILABLE, "the hub answered {status}, which its interface does not know"),
)
#: The table's row that is no refusal: an answer of 200 with no commit for the ref.
NO_COMMIT = AnswerRow("no-commit", Reason.REVISION_NOT_FOUND, "has no such revision", {200})
#: What the answer to a token's probe says of it; any other status says nothing.
TOKEN_STATES = {200: TokenState.ACCEPTED, 401: TokenState.REJECTED, 403: TokenState.REJECTED}


class Envelope(msgspec.Struct, rename="pascal"):
    """What every answer comes wrapped in; the data is left as it came."""

    code: int | None = None
    data: msgspec.Raw = msgspec.Raw(b"null")


class _Commit(msgspec.Struct, rename="pascal"):
    id: str


class _Commits(msgspec.Struct, rename="pascal"):
    commit: list[_Commit] | None


class _Files(msgspec.Struct, rename="pascal"):
    files: list[RepoFile] | None


_ENVELOPE = msgspec.json.Decoder(Envelope)
_COMMITS = msgspec.json.Decoder(_Commits)
_FILES = msgspec.json.Decoder(_Files)


class ModelScope(BaseHub):
    """ModelScope, or a hub that speaks its interface."""

    kind = HubKind.MODEL_SCOPE
    answers = ANSWERS
    token_states = TOKEN_STATES
    probe_path = "openapi/v1/users/me"
    log_in_hint = "--token-file, MODELSCOPE_API_TOKEN or `modelscope login`"
    page_prefix = "models/"

    def resolve(self, repository: str, revision: str) -> str:
        """The commit that a branch or tag (peeled) names now, by the index and by git; a full commit is taken as is."""
        if is_commit(revision):
            return revision
        name = self._name(repository, revision)
        location = self._api(repository, "commits", {"Ref": revision, "PageSize": "1"})
        commit = commit_of(self._data(Request(name, location), repository), name)
        if commit is None:
            hint = self._hint(NO_COMMIT, repository)
            raise GsmError(NO_COMMIT.reason, f"{name}: {NO_COMMIT.says}", hint=hint)
        answer = self._http.send(Request(name, self._git(repository)))
        if answer.status != 200:
            raise self._refusal(name, answer, repository, *status_of(answer, envelope_of(answer)))
        check_agreement(answer.body, name, revision, commit)
        return commit

    def list(self, repository: str, commit: str, progress: ListingProgress | None = None) -> tuple[Entry, ...]:
        """Every file of a commit, unfiltered, directory by directory where the hub cuts listings off."""
        answered = False

        def fetch(folder: str, recursive: bool) -> Sequence[RepoFile]:
            nonlocal answered
            listed = self._files(repository, commit, folder, recursive, walking=answered)
            answered = True
            return listed

        return walk(fetch, self._name(repository, commit), progress)

    def locate(self, repository: str, commit: str, path: str) -> Location:
        """Where a file's bytes are; no request is sent."""
        return self._api(repository, "repo", {"Revision": commit, "FilePath": path})

    def _some_file(self, repository: str, commit: str) -> str | None:
        name = self._name(repository, commit)
        at_root = first_file(files_of(self._files(repository, commit, "", False), name))
        return at_root or first_file(files_of(self._files(repository, commit, "", True), name))

    def _files(
        self, repository: str, commit: str, folder: str, recursive: bool, *, walking: bool = False
    ) -> Sequence[RepoFile]:
        name = self._name(repository, commit)
        query = {"Revision": commit, "Recursive": str(recursive).lower(), **({"Root": folder} if folder else {})}
        request = Request(name, self._api(repository, "repo/files", query))
        data = self._patiently(request, repository) if walking else self._data(request, repository)
        return decoded(_FILES, data, name, "a listing").files or ()

    def _patiently(self, request: Request, repository: str) -> msgspec.Raw:
        # In the middle of a walk the hub has shown that it grants access: a 403 is then one of its spurious ones.
        for attempt in count():
            try:
                return self._data(request, repository, walking=True)
            except _ForbiddenError as error:
                if not self._http.rest(attempt, error.message):
                    raise GsmError(error.reason, error.message, hint=error.hint) from error
        raise AssertionError("count() has no end")

    def _data(self, request: Request, repository: str, *, walking: bool = False) -> msgspec.Raw:
        answer = self._http.send(request)
        envelope = envelope_of(answer)
        if envelope and envelope.code == 200:
            return envelope.data
        if answer.status == 200 and (envelope is None or envelope.code is None):
            raise unreadable(request.name, "it is no envelope with a Code")
        status, code = status_of(answer, envelope)
        if walking and status == 403:
            message = f"{request.name}: the hub refused (403) in the middle of a listing that it had begun"
            raise _ForbiddenError(Reason.SOURCE_UNAVAILABLE, message)
        raise self._refusal(request.name, answer, repository, status, code)

    def _api(self, repository: str, verb: str, query: Mapping[str, str]) -> Location:
        encoded = urlencode(query, quote_via=quote, safe="")
        return self._at(f"api/v1/models/{repository_path(repository)}/{verb}?{encoded}")

    def _git(self, repository: str) -> Location:
        headers = {"User-Agent": _GIT_USER_AGENT}
        if self._token:
            basic = base64.b64encode(f"oauth2:{self._token.reveal()}".encode()).decode()
            headers["Authorization"] = f"Basic {basic}"
        url = f"{self.endpoint}/{repository_path(repository)}.git/info/refs?service=git-upload-pack"
        return Location(url, self.endpoint, headers)


class _ForbiddenError(GsmError):
    """A 403 in the middle of a walk whose earlier answer was a listing."""


def envelope_of(answer: Answer) -> Envelope | None:
    """The envelope of an answer, or None where there is none."""
    try:
        return _ENVELOPE.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def status_of(answer: Answer, envelope: Envelope | None) -> tuple[int, int | None]:
    """The status and the code that a row is found by: the envelope's code decides, the HTTP status where it is none."""
    code = envelope.code if envelope else None
    return (code if code is not None and 100 <= code < 600 else answer.status), code


def commit_of(data: msgspec.Raw, name: str) -> str | None:
    """The commit in the data of a commits answer, or None: the ref is not there (200 with `Commit: null`).

    Raises GsmError(SourceUnavailable) for anything but 40 lowercase hex.
    """
    commits = decoded(_COMMITS, data, name, "a list of commits").commit
    if not commits:
        return None
    commit = commits[0].id
    if not is_commit(commit):
        raise unreadable(name, f"its commit is {commit!r:.100}, not 40 hexadecimal digits")
    return commit


def check_agreement(advertisement: bytes, name: str, revision: str, commit: str) -> None:
    """Hold the index's commit against git's own. Raises GsmError(SourceUnavailable) when they do not agree."""
    try:
        refs = refs_of(advertisement)
    except ValueError as error:
        raise unreadable(name, f"its git's list of references: {error}") from error
    named = commit_named(refs, revision)
    if named is None:
        problem = f"the hub's index answers {commit}, but its git has no branch or tag {revision!r:.300}"
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"{name}: {problem}", hint="write the branch, tag or full commit")
    if named != commit:
        problem = f"the hub's index answers {commit}, but its git {named}"
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"{name}: {problem}", hint="ask again; the index follows its git")
