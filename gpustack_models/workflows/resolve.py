"""Owns resolving: from a reference to a commit, a manifest, and whether it may be read.

Refuses to know which hub it asks, and where its token came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpustack_models.core.manifest import Entry, Manifest, check_expected
from gpustack_models.core.patterns import Patterns
from gpustack_models.core.refs import HubKind, HubRef
from gpustack_models.errors import GsmError
from gpustack_models.hubs.protocol import Hub, ListingProgress, TokenState
from gpustack_models.workflows import parallel


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a hub's reference names: the commit its revision is now, and the manifest of its kept files.

    That it exists means that the content may be read: one file was asked for at the commit.
    """

    ref: HubRef
    commit: str
    manifest: Manifest

    @property
    def pinned(self) -> HubRef:
        """The reference at the commit."""
        return replace(self.ref, revision=self.commit)


@dataclass(frozen=True, slots=True)
class Question:
    """A reference to resolve, the patterns that its manifest is made with, the digest that it must have."""

    ref: HubRef
    patterns: Patterns | None = None
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """One answer for each question, in their order, and what each hub that was asked says of its token.

    A token's state is None where the hub could not say (a mirror may not know the question).
    """

    resolutions: tuple[Resolution | GsmError, ...]
    tokens: Mapping[HubKind, TokenState | None]


def resolve_all(
    questions: Sequence[Question], hubs: Mapping[HubKind, Hub], advance: Callable[[int], None] | None = None
) -> Answers:
    """Ask several questions at once, and each hub about its token. `advance` gets the entries listed since its last
    call, from any of the threads.
    """
    asked = list(dict.fromkeys(question.ref.kind for question in questions))

    def ask(job: Question | HubKind) -> Resolution | TokenState:
        if isinstance(job, HubKind):
            return hubs[job].check_token()
        progress = _increments(advance) if advance else None
        return resolve(hubs[job.ref.kind], job.ref, job.patterns, job.expected, progress)

    jobs: list[Question | HubKind] = [*asked, *questions]
    results = parallel.each(ask, jobs)
    states = (state if isinstance(state, TokenState) else None for state in results)
    resolutions = (result for result in results[len(asked) :] if not isinstance(result, TokenState))
    return Answers(tuple(resolutions), dict(zip(asked, states, strict=False)))


def resolve(
    hub: Hub,
    ref: HubRef,
    patterns: Patterns | None = None,
    expected: str | None = None,
    progress: ListingProgress | None = None,
) -> Resolution:
    """Ask a hub what a reference names (model-artifact.md, "Resolution and revalidation").

    Raises GsmError with a reason of hubs.md; DigestMismatch when the manifest is not the `expected` digest's.
    """
    name = str(ref)
    commit = hub.resolve(ref.repository, ref.revision)
    entries = hub.list(ref.repository, commit, progress)
    manifest = Manifest.of(entries, patterns, name=name)
    hub.check_access(ref.repository, commit, first_file(entries))
    check_expected(name, manifest, expected)
    return Resolution(ref, commit, manifest)


def first_file(entries: Sequence[Entry]) -> str | None:
    """The file that access is checked with: the first by path at the root, or the first of all (hubs.md)."""
    paths = [entry.path for entry in entries]
    key: Callable[[str], bytes] = str.encode
    return min((path for path in paths if "/" not in path), key=key, default=min(paths, key=key, default=None))


def _increments(advance: Callable[[int], None]) -> ListingProgress:
    last = 0

    def progress(listed: int) -> None:
        nonlocal last
        advance(listed - last)
        last = listed

    return progress
