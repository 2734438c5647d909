"""Owns the one HTTP client of the hubs: bounded answers, redirects by the token's rules, retries within the deadline.

Refuses hub knowledge; an answer of any status is handed back as it is.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpcore

from gpustack_models import __version__
from gpustack_models.core.location import Location, follow, origin_of
from gpustack_models.core.network import HttpOptions, from_environment
from gpustack_models.core.pacing import asked_pause
from gpustack_models.errors import GsmError, NoAnswerError, Reason
from gpustack_models.hubs.failures import EXCHANGE_ERRORS, Failure, failure_of
from gpustack_models.hubs.pacing import Pace, next_pause
from gpustack_models.hubs.transport import Transport

__all__ = ["Answer", "HttpClient", "HttpOptions", "Pace", "Request", "from_environment"]

#: The most that one page may decode to (hubs.md, "Bodies are bounded").
MAX_PAGE_BYTES = 16 << 20
#: What is read of a refusal: an envelope with a code, not somebody's web page.
_MAX_REFUSAL_BYTES = 64 << 10
_MAX_HOPS = 10
_INFLATED_STEP = 1 << 20
_CLOCK_GRAIN = 0.01
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
USER_AGENT = f"gsm/{__version__}"


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask. `name` is what an error calls it (a reference); `location` holds the token's headers and home."""

    name: str
    location: Location
    method: str = "GET"
    follow: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """What came: headers by lowercase name, the decoded body, the URL that answered.

    `retry_after` is the seconds that the server asks to wait, when it asked and the client could not.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    retry_after: float | None = None


class HttpClient:
    """One client, from any thread, for one pass over one hub or several; close it, or use it in a `with`.

    Its deadline runs from its making, and so does what it knows of a hub's silence: NoAnswerError means that a hub has
    not answered this client at all.
    `on_wait` is told the seconds and the cause of every pause between two attempts.
    """

    def __init__(
        self,
        options: HttpOptions | None = None,
        pace: Pace | None = None,
        on_wait: Callable[[float, str], None] | None = None,
    ) -> None:
        self.options = options or HttpOptions()
        self._pace = pace or Pace()
        self._on_wait = on_wait
        self._transport = Transport(self.options, self._pace.monotonic)
        self._answered: set[str] = set()
        deadline = self.options.deadline
        self._deadline = None if deadline is None else self._pace.monotonic() + deadline

    def send(self, request: Request) -> Answer:
        """Ask until there is an answer that is worth handing back.

        429 and 5xx answers and broken connections are asked again, as often as the options say. Raises NoAnswerError
        (the hub has not answered this client yet), GsmError: SourceUnavailable (an answer broke off, a redirect that
        may not be followed), ManifestTooLarge (a body beyond its bound).
        """
        for attempt in count():
            outcome = self._exchange(request)
            asked = None
            if isinstance(outcome, Answer):
                if outcome.status != 429 and outcome.status < 500:
                    return outcome
                asked = asked_pause(outcome.status, outcome.headers, self._pace.wall())
                outcome = replace(outcome, retry_after=asked)
                cause = f"{request.name}: {_host(outcome.url)} answered {outcome.status}"
            else:
                cause = outcome.error.message
            transient = isinstance(outcome, Answer) or outcome.transient
            if not transient or not self.rest(attempt, cause, asked):
                break
        if isinstance(outcome, Failure):
            raise outcome.error
        return outcome

    def rest(self, attempt: int, cause: str, asked: float | None = None) -> bool:
        """Pause after a failed attempt (the first is 0); False, without a pause, when no other should be made."""
        if attempt >= self.options.retries:
            return False
        pause = next_pause(attempt, asked, self._pace.jitter(), self._left())
        if pause is None:
            return False
        if self._on_wait:
            self._on_wait(pause, cause)
        self._pace.sleep(pause)
        return True

    def close(self) -> None:
        """Close every connection."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _left(self) -> float | None:
        return None if self._deadline is None else self._deadline - self._pace.monotonic()

    def _exchange(self, request: Request) -> Answer | Failure:
        """One attempt: the request, and wherever it is redirected to."""
        location = request.location
        url, trusted = location.url, origin_of(location.url) == origin_of(location.endpoint)
        for _ in range(_MAX_HOPS):
            answer = self._once(request, url, location.headers if trusted else {})
            if isinstance(answer, Failure) or not request.follow or answer.status not in _REDIRECTS:
                return answer
            target = answer.headers.get("location")
            if target is None:
                return answer
            try:
                hop = follow(url, target, location.endpoint)
            except GsmError as error:
                raise GsmError(error.reason, f"{request.name}: {error.message}") from error
            url, trusted = hop.url, trusted and hop.send_token
        raise GsmError(Reason.SOURCE_UNAVAILABLE, f"{request.name}: {_host(url)} redirects more than {_MAX_HOPS} times")

    def _too_late(self, request: Request) -> GsmError:
        message = f"{request.name}: no answer within the {self.options.deadline:g} s that were given"
        hint = "give it more time with --timeout"
        if request.location.endpoint in self._answered:
            return GsmError(Reason.SOURCE_UNAVAILABLE, message, hint=hint)
        return NoAnswerError(message, hint=hint)

    def _once(self, request: Request, url: str, own: Mapping[str, str]) -> Answer | Failure:
        left = self._left()
        if left is not None and left <= 0:
            return Failure(self._too_late(request), transient=False)
        bound = self.options.answer_timeout if left is None else min(left, self.options.answer_timeout)
        until = self._pace.monotonic() + bound
        headers = {"user-agent": USER_AGENT, "accept": "*/*", "accept-encoding": "gzip", "host": _authority(url)}
        headers |= {name.lower(): value for name, value in own.items()}
        begun = False
        try:
            with self._transport.stream(request.method, url, list(headers.items()), until) as response:
                begun = True
                self._answered.add(request.location.endpoint)
                return _read(request, url, response)
        except EXCHANGE_ERRORS as error:
            late = f"{bound:.3g} s" if self._pace.monotonic() >= until - _CLOCK_GRAIN else ""
            silent = request.location.endpoint not in self._answered
            return failure_of(error, request.name, _host(url), begun=begun, silent=silent, late=late)


def _read(request: Request, url: str, response: httpcore.Response) -> Answer:
    headers: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("ascii").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    if request.method == "HEAD":
        return Answer(response.status, headers, b"", url)
    chunks: Iterable[bytes] = response.iter_stream()
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("gzip", "x-gzip"):
        chunks = _inflated(chunks)
    if response.status >= 300:
        return Answer(response.status, headers, _beginning(chunks), url)
    if encoding not in ("gzip", "x-gzip", "identity", ""):
        message = f"{request.name}: {_host(url)} answered in an unknown encoding, {encoding!r:.40}"
        raise GsmError(Reason.SOURCE_UNAVAILABLE, message)
    return Answer(response.status, headers, _whole(chunks, request.name, _length(headers)), url)


def _whole(chunks: Iterable[bytes], name: str, announced: int) -> bytes:
    too_large = GsmError(Reason.MANIFEST_TOO_LARGE, f"{name}: an answer is larger than {MAX_PAGE_BYTES >> 20} MiB")
    if announced > MAX_PAGE_BYTES:
        raise too_large
    body: list[bytes] = []
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MAX_PAGE_BYTES:
            raise too_large
        body.append(chunk)
    return b"".join(body)


def _beginning(chunks: Iterable[bytes]) -> bytes:
    body = b""
    for chunk in chunks:
        body += chunk
        if len(body) >= _MAX_REFUSAL_BYTES:
            break
    return body[:_MAX_REFUSAL_BYTES]


def _inflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    # Bounded in steps: a few kilobytes can inflate to gigabytes, and must not before they are counted.
    inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        for chunk in chunks:
            data = chunk
            while data:
                yield inflater.decompress(data, _INFLATED_STEP)
                data = inflater.unconsumed_tail
    except zlib.error as error:
        raise httpcore.RemoteProtocolError("the answer is not gzip") from error
    if not inflater.eof or inflater.unused_data:
        raise httpcore.RemoteProtocolError("the answer is not one whole gzip stream")


def _length(headers: Mapping[str, str]) -> int:
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def _authority(url: str) -> str:
    return urlsplit(url).netloc


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
