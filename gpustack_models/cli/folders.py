"""Owns what commands that read folders share: which argument is a folder, and how its files' algorithms are chosen.

Refuses to hash, and to print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from gpustack_models.cli import asking, stdin
from gpustack_models.cli.asking import Asking
from gpustack_models.cli.home import expanded
from gpustack_models.cli.options import usage
from gpustack_models.cli.output import Output
from gpustack_models.core import refs
from gpustack_models.core.folder import Choice, Folder, choose, choose_like, choose_sha256
from gpustack_models.core.manifest import Manifest
from gpustack_models.core.patterns import Patterns
from gpustack_models.core.refs import LocalRef
from gpustack_models.errors import GsmError
from gpustack_models.workflows import listing
from gpustack_models.workflows.digest import Progress
from gpustack_models.workflows.files import STDIN, bytes_of
from gpustack_models.workflows.lookup import Found
from gpustack_models.workflows.questions import of_reference


def folder_of(text: str) -> Path | None:
    """The folder that an argument names: an existing one as it is written, or a path; None for a reference."""
    if (named := expanded(Path(text))).is_dir():
        return named
    try:
        ref = refs.parse(text)
    except GsmError:
        return None
    return expanded(Path(ref.path)) if isinstance(ref, LocalRef) else None


def chooser(out: Output, ask: Asking, like: str | None, sha256: bool) -> Callable[[Folder], Choice]:
    """How the algorithm of each file is chosen, as the options say. Asks a hub when --like names a reference."""
    if like and sha256:
        raise usage("--like and --sha256 both say which algorithm a file has", "give one of them")
    if sha256:
        return choose_sha256
    return partial(choose_like, like=manifest_like(out, ask, like)) if like else choose


def manifest_like(
    out: Output, ask: Asking, text: str, patterns: Patterns | None = None, *, file: bool = False
) -> Manifest:
    """The manifest of a saved file (`file` when it can be nothing else), or of a hub's reference. Raises GsmError."""
    if file or text == STDIN or Path(text).is_file():
        return listing.manifest_of(bytes_of(text, stdin.once), text, patterns)
    (found,) = asking.look_up(out, [of_reference(text, patterns)], ask)
    if isinstance(found, GsmError):
        raise found
    return manifest_in(found)


def manifest_in(found: Found) -> Manifest:
    """The manifest of what was looked up; a claim and an image have none: a usage error (InvalidInput)."""
    if found.manifest is None:
        raise usage(f"{found.item.name} has no manifest; only a repository of a hub has one")
    return found.manifest


@contextmanager
def hashing(out: Output) -> Iterator[Progress]:
    """The progress of hashing a folder: its bar begins when its bytes are known."""
    with ExitStack() as stack:
        yield lambda total: stack.enter_context(out.progress("hashing", total))
