"""Owns printing what was resolved, in each format, and writing it back into files.

Refuses to ask; everything is known when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gpustack_models.cli import resolve_view as view
from gpustack_models.cli.options import usage
from gpustack_models.cli.output import Output
from gpustack_models.cli.results import conclude, placed
from gpustack_models.errors import GsmError
from gpustack_models.workflows.lookup import Found
from gpustack_models.workflows.questions import Item
from gpustack_models.workflows.resolve import Resolution

Results = Sequence[Found | GsmError]


def show(
    out: Output, items: Sequence[Item | GsmError], results: Results, form: str, *, with_files: bool, write: bool
) -> int:
    """Print the results and tell the errors; the exit status is the first error's, or 0."""
    _PRINTERS[form](out, items, results, with_files)
    told = map(placed, items, results)
    return conclude(out, [*told, *(_write_back(out, items, results) if write else ())])


def _write_back(out: Output, items: Sequence[Item | GsmError], results: Results) -> list[GsmError]:
    from gpustack_models.core.artifactfile import Pin
    from gpustack_models.workflows.pinning import pin_files

    pins = {
        found.item.filed.place: Pin(found.result.commit, found.result.manifest.digest)
        for found in results
        if isinstance(found, Found) and found.item.filed and isinstance(found.result, Resolution)
    }
    broken = {_file_of(item) for item, result in zip(items, results, strict=True) if isinstance(result, GsmError)}
    outcomes = pin_files(pins, leave=broken)
    for file, outcome in outcomes.items():
        if isinstance(outcome, int):
            out.note(f"{file}: " + (f"{outcome} pinned" if outcome else "nothing to change"))
    for file in sorted(name for name in broken if name):
        out.warn(f"{file} was left as it is: not everything in it resolved")
    return [outcome for outcome in outcomes.values() if isinstance(outcome, GsmError)]


def _table(out: Output, _items: Sequence[Item | GsmError], results: Results, with_files: bool) -> None:
    found = [result for result in results if isinstance(result, Found)]
    if len(results) > 1 and not with_files:
        if found:
            out.table(*view.table(found))
        return
    for number, each in enumerate(found):
        out.data("\n" if number else "")
        out.fields(view.fields(each))
        if with_files and each.manifest:
            out.data("\n")
            out.table(("DIGEST", "SIZE", "PATH"), view.files(each.manifest))


def _values(items: Sequence[Item | GsmError], results: Results, with_files: bool) -> list[object]:
    return [view.value(result, item, with_files=with_files) for item, result in zip(items, results, strict=True)]


def _document(form: str, out: Output, items: Sequence[Item | GsmError], results: Results, with_files: bool) -> None:
    out.document(form, _values(items, results, with_files))


def _name(out: Output, _items: Sequence[Item | GsmError], results: Results, _with_files: bool) -> None:
    out.data(view.names([result for result in results if isinstance(result, Found)]))


def _manifest(out: Output, _items: Sequence[Item | GsmError], results: Results, _with_files: bool) -> None:
    if len(results) != 1:
        raise usage("-o manifest prints the manifest of one reference", "name one")
    (result,) = results
    if isinstance(result, Found):
        if result.manifest is None:
            raise usage(f"{result.item.name} has no manifest; only a repository of a hub has one")
        out.raw(result.manifest.data)


def _artifact(out: Output, _items: Sequence[Item | GsmError], results: Results, _with_files: bool) -> None:
    out.yaml(*(view.artifact(result) for result in results if isinstance(result, Found)))


def _file_of(item: Item | GsmError) -> str:
    return item.filed.place.file if isinstance(item, Item) and item.filed else ""


_PRINTERS: dict[str, Callable[[Output, Sequence[Item | GsmError], Results, bool], None]] = {
    "table": _table,
    "json": partial(_document, "json"),
    "yaml": partial(_document, "yaml"),
    "name": _name,
    "manifest": _manifest,
    "artifact": _artifact,
}
