"""Owns `gsm render`: the files and what is said of the cluster, and how Pods, Service and conditions are printed.

Refuses to decide what is rendered; `gpustack_models.core.rendering` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from gpustack_models.cli import lazy, options
from gpustack_models.cli.asking import Asking
from gpustack_models.cli.output import Output, counted, report
from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.delivery.decision import DELIVERY_MODE
from gpustack_models.core.given import NO_UID, Given, Stated, assumed, namespace_of, settings
from gpustack_models.core.reasons import WeightsReason
from gpustack_models.core.rendering import Rendered, leans_on_no_uid
from gpustack_models.core.setting import BY_NAME
from gpustack_models.errors import GsmError, Reason

app = lazy.single()


class Format(StrEnum):
    """The formats of `gsm render`."""

    YAML = "yaml"
    JSON = "json"


class Mode(StrEnum):
    """How hub artifacts are delivered."""

    ENGINE = "Engine"
    NODE = "Node"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asks of the command, beside the files and the cluster."""

    form: Format
    objects_only: bool
    resolve: bool
    asking: Asking


@app.command(
    epilog=lazy.examples(
        "gsm render -f examples/claim-vllm/input.yaml",
        "gsm render -f chat.yaml --delivery Node --resolve",
        "gsm render -f chat.yaml --claim models=Pending,Immediate",
        "kubectl get pvc,pv,sc,csidriver,csinode,node,nms -A -o yaml | gsm render -f chat.yaml -f -",
    )
)
def render(
    files: Annotated[
        list[str] | None,
        typer.Option("--file", "-f", metavar="FILE", help="A YAML or JSON file, a folder of them, or - for stdin."),
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(metavar="FILE", help="More files and folders.")] = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="What is printed.")] = Format.YAML,
    objects: Annotated[
        bool, typer.Option("--objects", help="Only what would be created, without the status of anything.")
    ] = False,
    delivery: Annotated[
        Mode | None, typer.Option(help="How hub artifacts are delivered: the Setting model-artifact-delivery-mode.")
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A Setting of the cluster; may be repeated.")
    ] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=STATE,…",
            help="How a claim stands: Bound, Pending, Lost or Missing; WaitForFirstConsumer or Immediate; access "
            "modes; no-provisioner; node=HOSTNAME. May be repeated.",
        ),
    ] = None,
    no_driver: Annotated[bool, typer.Option("--no-driver", help="The cluster has no node plugin.")] = False,
    kubernetes_version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="The API server's version, for the rules that need it.")
    ] = None,
    resolve: Annotated[bool, typer.Option("--resolve", help="Ask the hubs what artifacts resolve to now.")] = False,
    endpoint: options.Endpoint = None,
    token_file: options.TokenFile = None,
    timeout: options.Timeout = None,
    quiet: options.Quiet = False,
) -> int:
    """Print the Pods, Service and conditions that the operator would make of the objects in files.

    An artifact's status in the files is used as it is. Where nothing may be created, the condition and its reason are
    printed, with exit status 3. What gsm validate refuses is refused here, with exit status 1.
    """
    stated = _stated(delivery, setting or [], claim or [], no_driver)
    wanted = Wanted(output, objects, resolve, Asking(endpoint, token_file, timeout))
    return _run(Output(quiet), [*(files or ()), *(more or ())], stated, wanted, kubernetes_version)


def _stated(delivery: Mode | None, setting: Sequence[str], claim: Sequence[str], no_driver: bool) -> Stated:
    from gpustack_models.core import claimtext
    from gpustack_models.core.rules.setting import problem_of

    values: dict[str, str] = {}
    for text in [*setting, *([f"{DELIVERY_MODE}={delivery.value}"] if delivery is not None else [])]:
        name, equals, value = text.partition("=")
        if not equals:
            raise options.usage(f"--setting {text}: there is no value", "write --setting name=value")
        if name not in BY_NAME:
            raise options.usage(f"--setting {name} is no setting", f"those are {', '.join(BY_NAME)}")
        if problem := problem_of(name, value):
            raise options.usage(f"--setting {name}: {problem}", "see docs/reference/setting.md")
        values[name] = value
    return Stated(values, dict(map(claimtext.parse, claim)), False if no_driver else None)


def _run(out: Output, names: Sequence[str], stated: Stated, wanted: Wanted, version: str | None) -> int:
    from gpustack_models.cli.inputs import read_all
    from gpustack_models.core import documents, rendering
    from gpustack_models.core.rules.model import Facts
    from gpustack_models.core.validation import validate

    contents = read_all(names)
    judged = validate(contents, Facts(kubernetes_version=version, settings=stated.settings))
    if judged.findings:
        for finding in judged.findings:
            where = f"{finding.file}:{finding.line}:{finding.column}"
            about = ": ".join(part for part in (where, finding.object, finding.field) if part)
            report(f"{about}: {finding.message} ({finding.rule})", finding.hint)
        return 1
    given = Given.of(document.value for name, data in contents for document in documents.read(data, name))
    if wanted.resolve:
        given = _resolved(out, given, settings(given, stated), stated, wanted.asking)
    given = rendering.with_status(given, stated)
    rendered = list(rendering.render(given, stated))
    if not rendered:
        raise GsmError(
            Reason.INVALID_INPUT,
            "the files hold no ModelDeployment and no Instance",
            hint="add one; gsm validate judges the rest",
        )
    _print(out, rendered, () if wanted.objects_only else rendering.artifact_statuses(given), wanted)
    _say_what_was_assumed(out, given, stated, rendered)
    return _conclude(rendered, asked=wanted.resolve)


def _resolved(out: Output, given: Given, known: Any, stated: Stated, asking: Asking) -> Given:
    from gpustack_models.cli.asking import look_up
    from gpustack_models.workflows.rendering import answered, endpoint_setting, questions

    asked = questions(given.every(ModelArtifact))
    artifacts = []
    for kind in dict.fromkeys(question.ref.kind for question in asked):
        of_kind = [question for question in asked if question.ref.kind is kind]
        # A cluster asks where its Setting says; a laptop asks there too when that Setting is given.
        where = asking.endpoint or given_setting(given, stated, endpoint_setting(kind))
        answers = look_up(
            out, [question.item for question in of_kind], Asking(where, asking.token_file, asking.timeout)
        )
        artifacts += [answered(question, answer, known) for question, answer in zip(of_kind, answers, strict=True)]
    return given.with_artifacts(artifacts)


def given_setting(given: Given, stated: Stated, name: str) -> str | None:
    """A setting's value when it is given, None where only its default is known."""
    return settings(given, stated).values.get(name)


def _print(out: Output, rendered: Iterable[Rendered], artifacts: Iterable[Any], wanted: Wanted) -> None:
    documents = [_sorted(each) for each in artifacts]
    for each in rendered:
        documents += [_sorted(created) for created in each.created]
        if not wanted.objects_only:
            documents.append(_sorted(each.status))
    if wanted.form is Format.YAML:
        if documents:
            out.yaml(*documents)
    else:
        out.json({"apiVersion": "v1", "kind": "List", "items": documents})


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list | tuple) else value


def _say_what_was_assumed(out: Output, given: Given, stated: Stated, rendered: Sequence[Rendered]) -> None:
    for namespace in sorted({namespace_of(each.workload) for each in rendered}):
        for name in assumed(given, stated, namespace):
            out.note(f"claim {name!r} is taken to be Bound with ReadWriteMany; say otherwise with --claim {name}=…")
    if leans_on_no_uid(rendered):
        out.warn(f"an artifact has no metadata.uid yet; {NO_UID} stands for the one that the cluster will give")


def _conclude(rendered: Sequence[Rendered], *, asked: bool) -> int:
    blocked = [each for each in rendered if each.blocked is not None]
    if not blocked:
        return 0
    reasons = "; ".join(
        f"{each.workload}: {each.blocked.reason}: {each.blocked.message}" for each in blocked if each.blocked
    )
    unresolved = not asked and any(
        each.blocked and each.blocked.reason is WeightsReason.ARTIFACT_NOT_RESOLVED for each in blocked
    )
    raise GsmError(
        Reason.NOTHING_RENDERED,
        f"nothing may be created for {counted(len(blocked), 'workload')}: {reasons}",
        hint="--resolve asks the hub now; or give the artifact with its status" if unresolved else "",
    )
