"""Owns what the two hubs have in common: one endpoint, one token or none, the probes of a token and of a file.

Refuses what only one of them has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import quote

from gpustack_models.core.location import Location
from gpustack_models.core.refs import HubKind, HubRef
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.answers import AnswerRow, refused, row_of
from gpustack_models.hubs.http import Answer, HttpClient, Request
from gpustack_models.hubs.protocol import TokenState
from gpustack_models.hubs.tokens import Token


class BaseHub(ABC):
    """The hub behind one endpoint, with one token or none. Every method raises GsmError with a reason of hubs.md."""

    kind: HubKind
    #: The table of hubs.md, "The hub answers".
    answers: ClassVar[tuple[AnswerRow, ...]]
    #: What the answer to a token's probe says of it; any other status says nothing.
    token_states: ClassVar[Mapping[int, TokenState]]
    probe_path: ClassVar[str]
    #: How a person gives this hub a token, and where a person looks at a repository.
    log_in_hint: ClassVar[str]
    page_prefix: ClassVar[str] = ""

    def __init__(self, http: HttpClient, endpoint: str, token: Token | None = None) -> None:
        self.endpoint = endpoint
        self._http = http
        self._token = token

    @abstractmethod
    def locate(self, repository: str, commit: str, path: str) -> Location:
        """Where a file's bytes are; no request is sent."""

    @abstractmethod
    def _some_file(self, repository: str, commit: str) -> str | None:
        """The first file by path at the root, or of all when the root holds none."""

    def check_access(self, repository: str, commit: str, path: str | None = None) -> None:
        """Ask for the head of one file at the commit, redirects not followed; returns when it may be read."""
        name = self._name(repository, commit)
        path = path or self._some_file(repository, commit)
        if path is None:
            raise GsmError(Reason.EMPTY_MANIFEST, f"{name}: it lists no file")
        answer = self._http.send(Request(name, self.locate(repository, commit, path), method="HEAD", follow=False))
        if answer.status != 200 and not 300 <= answer.status < 400:
            code = answer.headers.get("x-error-code")
            raise self._refusal(name, answer, repository, answer.status, code)

    def check_token(self) -> TokenState:
        """Whether the hub knows the token; on public repositories it is silent about one it rejects."""
        if self._token is None:
            return TokenState.ABSENT
        # A redirect is not followed: elsewhere the token would be missing, and the answer would be about nobody.
        answer = self._http.send(Request(self.endpoint, self._at(self.probe_path), follow=False))
        if state := self.token_states.get(answer.status):
            return state
        says_nothing = [row for row in self.answers if row.reason is Reason.SOURCE_UNAVAILABLE]
        raise refused(self.endpoint, row_of(says_nothing, answer.status, None), answer, answer.status)

    def _at(self, path: str) -> Location:
        headers = {"Authorization": f"Bearer {self._token.reveal()}"} if self._token else {}
        return Location(f"{self.endpoint}/{path}", self.endpoint, headers)

    def _name(self, repository: str, revision: str) -> str:
        return str(HubRef(self.kind, repository, revision))

    def _refusal(self, name: str, answer: Answer, repository: str, status: int, code: str | int | None) -> GsmError:
        row = row_of(self.answers, status, code)
        return refused(name, row, answer, status, self._hint(row, repository))

    def _hint(self, row: AnswerRow, repository: str) -> str:
        page = f"{self.endpoint}/{self.page_prefix}{repository}"
        if row.reason is Reason.REVISION_NOT_FOUND:
            return f"its branches and tags are at {page}"
        if row.reason is not Reason.ACCESS_DENIED:
            return f"try again later; {self.endpoint} was asked"
        if self._token is None:
            return f"no token was sent: give one by {self.log_in_hint}, or check the name"
        if row.id == "gated":
            return f"accept its terms at {page}, with the account of {self._token}"
        return f"check the name, and that {self._token} may read {page}"


def repository_path(repository: str) -> str:
    """A repository's name as segments of a URL's path, each percent-encoded."""
    return "/".join(quote(part, safe="") for part in repository.split("/"))
