"""Owns the rules of the Setting (workloads.md "Setting"): one row per setting's value, and those between two of them.

Refuses to read a Setting's effect; `core.values` turns texts into values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpustack_models.core import forms, setting, values
from gpustack_models.core.forms import Form
from gpustack_models.core.nodestore import DRIVER
from gpustack_models.core.rules.cel import path, text_at
from gpustack_models.core.rules.model import Case, Cel, Operation, Problem, Row, Where
from gpustack_models.core.setting import BY_NAME, Setting

KIND = "Setting"
_SPEC = "workloads.md"
_VALUE = ("spec", "value")
LOW, HIGH = "model-store-low-watermark", "model-store-high-watermark"
DELIVERY_MODE = "model-artifact-delivery-mode"
_MINUTE = 60.0

#: The form of each setting's value, and the row that says so.
_FORMS: dict[str, tuple[str, Form]] = {
    "model-artifact-huggingface-endpoint": ("setting-endpoint", forms.URL),
    "model-artifact-modelscope-endpoint": ("setting-endpoint", forms.URL),
    "model-artifact-https-proxy": ("setting-proxy", forms.BLANK_OR_URL),
    "model-artifact-no-proxy": ("setting-no-proxy", forms.NO_PROXY),
    "model-artifact-ca-bundle": ("setting-ca-bundle", forms.BLANK_OR_SUBDOMAIN),
    "model-artifact-revalidate-interval": ("setting-interval", forms.DURATION),
    DELIVERY_MODE: ("setting-delivery-mode", forms.DELIVERY_MODE),
    HIGH: ("setting-watermark", forms.HIGH_WATERMARK),
    LOW: ("setting-watermark", forms.LOW_WATERMARK),
    "model-store-download-concurrency": ("setting-concurrency", forms.CONCURRENCY),
    "model-store-download-bandwidth": ("setting-bandwidth", forms.BANDWIDTH),
    "model-store-peer-sync": ("setting-peer-sync", forms.BOOLEAN),
}


def problem_of(name: str, value: str) -> str:
    """Why a value is refused for a setting, or an empty string: also what judges a seed from the environment."""
    if name not in BY_NAME:
        return f"is not a setting; those are {', '.join(BY_NAME)}"
    form = _FORMS[name][1]
    return "" if _fits(form)(value) else f"{name} must be {form.words}"


def _fits(form: Form) -> Callable[[str], bool]:
    if form is not forms.DURATION:
        return form.fits
    return lambda text: form.fits(text) and len(text) <= forms.MAX_DURATION and values.seconds(text) >= _MINUTE


def _cel_of(form: Form) -> str:
    fits = form.cel("self.spec.value")
    if form is not forms.DURATION:
        return fits
    return f"({fits} && self.spec.value.size() <= {forms.MAX_DURATION} && duration(self.spec.value) >= duration('1m'))"


def _value(name: str) -> Cel:
    form = _FORMS[name][1]
    fits = _fits(form)
    return Cel(
        (),
        f"self.metadata.name != {forms.cel_string(name)} || {_cel_of(form)}",
        lambda value: text_at(value, "metadata", "name") != name or fits(text_at(value, *_VALUE)),
        f"{name} must be {form.words}",
        _VALUE,
    )


def _rows_of_values() -> Iterator[Row]:
    by_row: dict[str, list[str]] = {}
    for name, (row, _) in _FORMS.items():
        by_row.setdefault(row, []).append(name)
    for row, names in by_row.items():
        rule = " / ".join(dict.fromkeys(BY_NAME[name].rule for name in names))
        yield Row(
            row,
            KIND,
            "spec.value",
            f"{', '.join(f'`{name}`' for name in names)}: {rule}.",
            Where.CEL,
            _SPEC,
            tuple(map(_value, names)),
        )


def _watermark_order(case: Case[Setting]) -> Iterator[Problem]:
    if case.new.name not in (LOW, HIGH):
        return
    other = LOW if case.new.name == HIGH else HIGH
    mine, others = case.new.spec.value, case.facts.settings.get(other, BY_NAME[other].default)
    low, high = (others, mine) if case.new.name == HIGH else (mine, others)
    # What is no watermark has its own refusal.
    if not (forms.LOW_WATERMARK.fits(low) and forms.HIGH_WATERMARK.fits(high)) or int(low) < int(high):
        return
    yield Problem(_VALUE, f"{LOW} ({low}) must be below {HIGH} ({high})", f"change {other} first")


def _needs_driver(case: Case[Setting]) -> Iterator[Problem]:
    if case.new.name == DELIVERY_MODE and case.new.spec.value == "Node" and case.facts.csi_driver is False:
        yield Problem(
            _VALUE,
            f"Node needs the CSIDriver {DRIVER}, which does not exist: no node could mount a model",
            "deploy the node plugin first",
        )


def _operators_own(case: Case[Setting]) -> Iterator[Problem]:
    requester = case.requester
    if requester is None or case.facts.operator is None or requester.username == case.facts.operator:
        return
    done = "created" if case.operation is Operation.CREATE else "deleted"
    yield Problem(
        (),
        f"a Setting is {done} by the operator ({case.facts.operator}) alone",
        "change spec.value; the default is written in the reference of settings",
    )


def _known(value: Any) -> bool:
    return text_at(value, "metadata", "name") in BY_NAME


ROWS: tuple[Row, ...] = (
    Row(
        "setting-name",
        KIND,
        "metadata.name",
        "The catalogue of settings is fixed.",
        Where.CEL,
        _SPEC,
        (
            Cel(
                (),
                "self.metadata.name in [" + ", ".join(map(forms.cel_string, setting.BY_NAME)) + "]",
                _known,
                f"is not a setting; those are {', '.join(setting.BY_NAME)}",
                ("metadata", "name"),
            ),
        ),
    ),
    *_rows_of_values(),
    Row(
        "setting-watermark-order",
        KIND,
        "spec.value",
        "The low watermark is below the high one, whichever of the two is changed.",
        Where.WEBHOOK,
        _SPEC,
        check=_watermark_order,
        scope=path("spec.value"),
    ),
    Row(
        "setting-delivery-driver",
        KIND,
        "spec.value",
        f"`{DELIVERY_MODE}` is `Node` only while the CSIDriver exists.",
        Where.WEBHOOK,
        _SPEC,
        check=_needs_driver,
        scope=path("spec.value"),
    ),
    Row(
        "setting-operator-only",
        KIND,
        "the request",
        "Creating and deleting a Setting is the operator's.",
        Where.WEBHOOK,
        _SPEC,
        check=_operators_own,
        operations=frozenset({Operation.CREATE, Operation.DELETE}),
    ),
)
