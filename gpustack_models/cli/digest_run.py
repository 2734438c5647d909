"""Owns the work of `gsm digest`: each target to its manifest, and printing them.

Refuses to read options; they come as values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpustack_models.cli import asking, folders, stdin
from gpustack_models.cli.asking import Asking
from gpustack_models.cli.output import Output, counted, size_text
from gpustack_models.cli.results import conclude, error_object
from gpustack_models.core.folder import Choice, Folder
from gpustack_models.core.manifest import Manifest
from gpustack_models.core.patterns import Patterns
from gpustack_models.errors import GsmError
from gpustack_models.workflows.digest import digest_folder
from gpustack_models.workflows.files import bytes_of
from gpustack_models.workflows.listing import manifest_of
from gpustack_models.workflows.questions import of_reference

HEADER = ("DIGEST", "FILES", "SIZE", "TARGET")


@dataclass(frozen=True, slots=True)
class How:
    """How a folder is digested: which files, which algorithm each has, on how many threads."""

    patterns: Patterns | None
    choose: Callable[[Folder], Choice]
    threads: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """One target's manifest, and what told the algorithms of its files (empty for a hub's own listing)."""

    manifest: Manifest
    told_by: str = ""


#: Each target as it was named, with what it turned out to be.
Results = Sequence[tuple[str, Answer | GsmError]]


def targets(out: Output, ask: Asking, named: Sequence[str], how: How) -> Iterator[Answer | GsmError]:
    """The manifests of folders and references, in their order; references are asked for at once."""
    paths = {text: folders.folder_of(text) for text in named}
    references = [text for text, path in paths.items() if path is None]
    items = [of_reference(text, how.patterns) for text in references]
    looked_up = dict(zip(references, asking.look_up(out, items, ask) if items else (), strict=True))
    for text in named:
        found, path = looked_up.get(text), paths[text]
        try:
            if isinstance(found, GsmError):
                yield found if "://" in text else _of_bare(text, found)
            elif found is not None:
                yield Answer(folders.manifest_in(found))
            elif path is not None:
                with folders.hashing(out) as progress:
                    done = digest_folder(path, how.choose, how.patterns, threads=how.threads, progress=progress)
                yield Answer(done.manifest, done.rule.value)
        except GsmError as error:
            yield error


def _of_bare(text: str, error: GsmError) -> GsmError:
    # A bare name is a folder first: most often it is the folder's name that was mistyped.
    hint = f"{error.hint}; " if error.hint else ""
    return GsmError(error.reason, error.message, hint=f"{hint}there is no folder {text!r} here either")


def listing(file: str, patterns: Patterns | None) -> Answer | GsmError:
    """The manifest of a saved listing."""
    try:
        return Answer(manifest_of(bytes_of(file, stdin.once), file, patterns))
    except GsmError as error:
        return error


def show(out: Output, results: Results, form: str) -> int:
    """Print the digests in a format, say what they are of, and give the exit status."""
    answers = [(target, result) for target, result in results if isinstance(result, Answer)]
    if form in ("json", "yaml"):
        out.document(form, [_object(target, result) for target, result in results])
    else:
        _PRINTERS[form](out, answers)
    for target, answer in answers:
        by = f", by {answer.told_by}" if answer.told_by else ""
        manifest = answer.manifest
        out.note(f"{target}: {counted(manifest.file_count, 'file')}, {size_text(manifest.size)}{by}")
    return conclude(out, [result for _, result in results])


def _object(target: str, result: Answer | GsmError) -> dict[str, Any]:
    if isinstance(result, GsmError):
        return {"target": target, "error": error_object(result)}
    manifest = result.manifest
    told = {"algorithmsBy": result.told_by} if result.told_by else {}
    return {
        "target": target,
        "digest": manifest.digest,
        "fileCount": manifest.file_count,
        "sizeBytes": manifest.size,
        **told,
    }


def _table(out: Output, answers: Sequence[tuple[str, Answer]]) -> None:
    if answers:
        rows = [(target, answer.manifest) for target, answer in answers]
        out.table(HEADER, [(m.digest, str(m.file_count), size_text(m.size), target) for target, m in rows])


_PRINTERS: dict[str, Callable[[Output, Sequence[tuple[str, Answer]]], None]] = {
    "digest": lambda out, answers: out.data("".join(f"{each.manifest.digest}\n" for _, each in answers)),
    "table": _table,
    "manifest": lambda out, answers: out.raw(b"".join(each.manifest.data for _, each in answers)),
}
