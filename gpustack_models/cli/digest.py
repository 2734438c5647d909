"""Owns `gsm digest`: the manifest digest of a folder on disk, of a reference, of a saved listing.

Refuses to guess the algorithm of a file; it shows the choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from gpustack_models.cli import asking, folders, lazy, options, stdin
from gpustack_models.cli.asking import Asking
from gpustack_models.cli.output import Output, counted, size_text
from gpustack_models.cli.results import conclude, error_object
from gpustack_models.core.folder import Choice, Folder
from gpustack_models.core.manifest import Manifest
from gpustack_models.core.patterns import Patterns
from gpustack_models.errors import GsmError
from gpustack_models.workflows import listing
from gpustack_models.workflows.digest import digest_folder
from gpustack_models.workflows.files import bytes_of
from gpustack_models.workflows.questions import of_reference

app = lazy.single()

HEADER = ("DIGEST", "FILES", "SIZE", "TARGET")


class Format(StrEnum):
    """The formats of `gsm digest`."""

    DIGEST = "digest"
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    MANIFEST = "manifest"


@dataclass(frozen=True, slots=True)
class Answer:
    """One target's manifest, and what told the algorithms of its files (empty for a hub's own listing)."""

    target: str
    manifest: Manifest
    told_by: str = ""


@app.command(
    epilog=lazy.examples(
        "gsm digest ./Qwen2.5-0.5B-Instruct",
        "gsm digest ./qwen --like hf://Qwen/Qwen2.5-0.5B-Instruct",
        "gsm digest hf://Qwen/Qwen2.5-0.5B-Instruct -o manifest > qwen.manifest",
        "gsm digest --hub-tree tree.json --allow '*.safetensors' --ignore original/",
    )
)
def digest(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH|REF...", help="Folders, or references; an existing folder wins over a reference."),
    ] = None,
    hub_tree: Annotated[
        list[str] | None,
        typer.Option("--hub-tree", metavar="FILE", help="A saved listing of a hub; - is stdin. Repeatable."),
    ] = None,
    like: options.Like = None,
    sha256: options.Sha256 = False,
    allow: options.Allow = None,
    ignore: options.Ignore = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="What is printed.")] = Format.DIGEST,
    threads: options.Threads = None,
    endpoint: options.Endpoint = None,
    token_file: options.TokenFile = None,
    timeout: options.Timeout = None,
    quiet: options.Quiet = False,
) -> int:
    """Print the manifest digest of folders, references or saved listings, one a line, in the order given.

    The digest names a set of files, each by its SHA-256 or by its git blob id, as its hub names it. Which of the two it
    is for a file on disk is never guessed: the Hugging Face cache, `hf download`, `modelscope download` and
    .gitattributes tell; where nothing does, say --like or --sha256.
    """
    if not targets and not hub_tree:
        raise options.usage("nothing to digest was named", "gsm digest --help")
    out = Output(quiet)
    ask = Asking(endpoint, token_file, timeout)
    patterns = options.patterns(allow, ignore)
    choose = folders.chooser(out, ask, like, sha256)
    results = [
        *_targets(out, ask, targets or [], patterns, choose, threads),
        *(_listing(file, patterns) for file in hub_tree or []),
    ]
    if output is Format.MANIFEST and len(results) != 1:
        raise options.usage("-o manifest prints the manifest of one target", "name one")
    if output in (Format.JSON, Format.YAML):
        named = zip([*(targets or []), *(hub_tree or [])], results, strict=True)
        out.document(output, [_object(target, result) for target, result in named])
    else:
        _PRINTERS[output](out, [result for result in results if isinstance(result, Answer)])
    for answer in results:
        if isinstance(answer, Answer):
            manifest = answer.manifest
            by = f", by {answer.told_by}" if answer.told_by else ""
            out.note(f"{answer.target}: {counted(manifest.file_count, 'file')}, {size_text(manifest.size)}{by}")
    return conclude(out, results)


def _targets(
    out: Output,
    ask: Asking,
    targets: Sequence[str],
    patterns: Patterns | None,
    choose: Callable[[Folder], Choice],
    threads: int | None,
) -> Iterator[Answer | GsmError]:
    paths = {text: folders.folder_of(text) for text in targets}
    references = [text for text in targets if paths[text] is None]
    items = [of_reference(text, patterns) for text in references]
    looked_up = dict(zip(references, asking.look_up(out, items, ask) if items else (), strict=True))
    for text in targets:
        found, path = looked_up.get(text), paths[text]
        try:
            if isinstance(found, GsmError):
                yield found
            elif found is not None:
                yield Answer(text, folders.manifest_in(found))
            elif path is not None:
                with folders.hashing(out) as progress:
                    done = digest_folder(path, choose, patterns, threads=threads, progress=progress)
                yield Answer(text, done.manifest, done.rule.value)
        except GsmError as error:
            yield error


def _listing(file: str, patterns: Patterns | None) -> Answer | GsmError:
    try:
        return Answer(file, listing.manifest_of(bytes_of(file, stdin.once), file, patterns))
    except GsmError as error:
        return error


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


def _table(out: Output, answers: Sequence[Answer]) -> None:
    if answers:
        rows = [(each.manifest, each.target) for each in answers]
        out.table(HEADER, [(m.digest, str(m.file_count), size_text(m.size), target) for m, target in rows])


_PRINTERS: dict[Format, Callable[[Output, Sequence[Answer]], None]] = {
    Format.DIGEST: lambda out, answers: out.data("".join(f"{each.manifest.digest}\n" for each in answers)),
    Format.TABLE: _table,
    Format.MANIFEST: lambda out, answers: out.raw(b"".join(each.manifest.data for each in answers)),
}
