"""Owns `gsm validate`: the files to judge, and how refusals are printed.

Refuses to judge; `gpustack_models.core.validation` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from gpustack_models.cli import lazy
from gpustack_models.cli.checks import Check, CheckFormat, Outcome, render
from gpustack_models.cli.output import Output, printable
from gpustack_models.core.rules.model import Facts
from gpustack_models.core.validation import Finding, Report, validate

app = lazy.single()


@app.command(
    epilog=lazy.examples(
        "gsm validate -f deploy.yaml",
        "gsm validate -f examples/ -o github",
        "kubectl get modelartifacts -A -o yaml | gsm validate -f new.yaml --stored -",
    )
)
def main(
    files: Annotated[
        list[str] | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="A YAML or JSON file, a folder of them (recursively), or - for stdin. Repeatable.",
        ),
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(metavar="FILE", help="More files and folders.")] = None,
    output: Annotated[
        CheckFormat, typer.Option("--output", "-o", help="How refusals are printed.")
    ] = CheckFormat.TABLE,
    kubernetes_version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="The API server's version, such as 1.36, for the rules that need it."),
    ] = None,
    csi_driver: Annotated[
        bool | None,
        typer.Option(
            "--csi-driver/--no-csi-driver", help="Whether the node plugin's CSIDriver exists, if it is known."
        ),
    ] = None,
    stored: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="The objects as they are stored: those given are judged as updates of them. Repeatable.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print refusals only.")] = False,
) -> int:
    """Judge Kubernetes objects by every rule of the cluster, without one. Exit status 1 when any is refused."""
    from gpustack_models.cli.inputs import read_all

    given = [*(files or ()), *(more or ())]
    contents = read_all(given)
    before = read_all(stored) if stored else []
    report = validate(contents, Facts(kubernetes_version=kubernetes_version, csi_driver=csi_driver), before)
    out = Output(quiet)
    _PRINTERS[output](out, report)
    out.note(_summary(len(contents), report))
    return 1 if report.findings else 0


def _summary(files: int, report: Report) -> str:
    others = f", {report.others} of other projects not judged" if report.others else ""
    refusals = len(report.findings) or "no"
    return f"{_counted(files, 'file')}, {_counted(report.objects, 'object')}{others}: {_counted(refusals, 'refusal')}"


def _counted(number: int | str, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _table(out: Output, report: Report) -> None:
    if report.findings:
        out.table(("WHERE", "OBJECT", "FIELD", "RULE", "REFUSAL"), [_row(each) for each in report.findings])


def _row(finding: Finding) -> tuple[str, ...]:
    where = f"{finding.file}:{finding.line}:{finding.column}"
    cells = (where, finding.object or "-", finding.field or "-", finding.rule, _sentence(finding))
    return tuple(map(printable, cells))


def _sentence(finding: Finding) -> str:
    return f"{finding.message}; {finding.hint}" if finding.hint else finding.message


def _json(out: Output, report: Report) -> None:
    refusals = [asdict(finding) for finding in report.findings]
    out.json({"objects": report.objects, "others": report.others, "refusals": refusals})


def _annotated(out: Output, report: Report, form: CheckFormat) -> None:
    checks = [_check(finding) for finding in report.findings]
    out.data(render(checks, form, suite="gsm validate"))


def _check(finding: Finding) -> Check:
    about = " ".join(part for part in (finding.object, finding.field) if part) or finding.file
    return Check(about, Outcome.FAILED, finding.message, finding.rule, finding.hint, finding.file, finding.line)


_PRINTERS: dict[CheckFormat, Callable[[Output, Report], None]] = {
    CheckFormat.TABLE: _table,
    CheckFormat.JSON: _json,
    CheckFormat.GITHUB: partial(_annotated, form=CheckFormat.GITHUB),
    CheckFormat.JUNIT: partial(_annotated, form=CheckFormat.JUNIT),
}
