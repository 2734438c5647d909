"""Owns looking several things up at once: hubs' references, images, claims, each hub's token beside them.

Refuses to open hubs, and to print.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpustack_models.core.manifest import Manifest
from gpustack_models.core.refs import ClaimRef, HubKind, HubRef
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.oci import Image, ImageName
from gpustack_models.hubs.protocol import Hub, ListingProgress, TokenState
from gpustack_models.workflows import parallel
from gpustack_models.workflows.questions import Item
from gpustack_models.workflows.resolve import Resolution, resolve


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of the token a hub was asked with: what the hub says of it (None where it could not say), and where
    it came from (empty when there is none).
    """

    state: TokenState | None = TokenState.ABSENT
    source: str = ""


@dataclass(frozen=True, slots=True)
class OpenHub:
    """A hub that may be asked, and where its token came from."""

    hub: Hub
    token_source: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What one item turned out to be."""

    item: Item
    result: Resolution | Image | ClaimRef
    token: Token = Token()

    @property
    def pinned(self) -> str:
        """The reference that names this very content (a claim names itself)."""
        if isinstance(self.result, Resolution):
            return str(self.result.pinned)
        return str(self.result.ref if isinstance(self.result, Image) else self.result)

    @property
    def manifest(self) -> Manifest | None:
        """The manifest, which only a hub's source has."""
        return self.result.manifest if isinstance(self.result, Resolution) else None


@dataclass(frozen=True, slots=True)
class Lookup:
    """The results, in the order of the items, and what each hub that was asked says of its token."""

    results: list[Found | GsmError]
    tokens: Mapping[HubKind, Token]


def look_up(
    items: Sequence[Item | GsmError],
    hubs: Mapping[HubKind, OpenHub],
    image: Callable[[ImageName], Image],
    advance: Callable[[int], None] | None = None,
) -> Lookup:
    """Look all items up; an item that is an error stays one. `advance` gets the entries listed since its last call,
    from any thread.
    """

    def work(job: HubKind | Item | GsmError) -> TokenState | Found:
        if isinstance(job, HubKind):
            return hubs[job].hub.check_token()
        if isinstance(job, GsmError):
            raise job
        return Found(job, _answer(job, hubs, image, advance))

    asked = kinds_of(items)
    jobs: list[HubKind | Item | GsmError] = [*asked, *items]
    results = parallel.each(work, jobs)
    states = (state if isinstance(state, TokenState) else None for state in results)
    tokens = {kind: Token(state, hubs[kind].token_source) for kind, state in zip(asked, states, strict=False)}
    answers = (answer for answer in results[len(asked) :] if not isinstance(answer, TokenState))
    return Lookup([_with_token(answer, tokens) for answer in answers], tokens)


def kinds_of(items: Sequence[Item | GsmError]) -> list[HubKind]:
    """The hubs that must be asked, each once."""
    refs = (item.ref for item in items if isinstance(item, Item))
    return list(dict.fromkeys(ref.kind for ref in refs if isinstance(ref, HubRef)))


def _answer(
    item: Item,
    hubs: Mapping[HubKind, OpenHub],
    image: Callable[[ImageName], Image],
    advance: Callable[[int], None] | None,
) -> Resolution | Image | ClaimRef:
    ref = item.ref
    if isinstance(ref, HubRef):
        progress = _increments(advance) if advance else None
        return resolve(hubs[ref.kind].hub, ref, item.patterns, item.expected, progress)
    if item.patterns or item.expected:
        raise GsmError(
            Reason.INVALID_INPUT,
            f"{item.name}: patterns and an expected digest are for hub sources",
            hint="leave them out: the identity of an image is its digest, that of a claim is the claim",
        )
    if isinstance(ref, ImageName):
        return image(ref)
    if isinstance(ref, ClaimRef):
        return ref
    message = f"{ref} is a directory of this machine; it has no commit"
    raise GsmError(Reason.INVALID_REFERENCE, message, hint=f"gsm digest {ref}")


def _with_token(answer: Found | GsmError, tokens: Mapping[HubKind, Token]) -> Found | GsmError:
    if isinstance(answer, Found) and isinstance(answer.item.ref, HubRef):
        return Found(answer.item, answer.result, tokens[answer.item.ref.kind])
    return answer


def _increments(advance: Callable[[int], None]) -> ListingProgress:
    last = 0

    def progress(listed: int) -> None:
        nonlocal last
        advance(listed - last)
        last = listed

    return progress
