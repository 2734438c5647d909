"""Owns the rules of the NodeModelStore (node-store.md "NodeModelStore").

Refuses what the plugin checks once more before it works: the two judge by the same forms.
"""

from __future__ import annotations

from gpustack_models.core import forms
from gpustack_models.core.rules.cel import form, path
from gpustack_models.core.rules.model import Cel, Row, Where

KIND = "NodeModelStore"
_SPEC = "node-store.md"

ROWS: tuple[Row, ...] = (
    Row(
        "nodestore-watermarks",
        KIND,
        "spec.watermarks",
        "The low watermark is below the high one.",
        Where.CEL,
        _SPEC,
        (
            Cel(
                path("spec.watermarks"),
                "self.lowPercent < self.highPercent",
                lambda marks: bool(marks["lowPercent"] < marks["highPercent"]),
                "lowPercent must be below highPercent",
                ("lowPercent",),
            ),
        ),
    ),
    Row(
        "nodestore-watermark-range",
        KIND,
        "spec.watermarks.{highPercent,lowPercent}",
        "Watermarks are percentages: the low one from 1, the high one at most 95.",
        Where.SCHEMA,
        _SPEC,
    ),
    Row(
        "nodestore-download-range",
        KIND,
        "spec.download.{concurrency,bytesPerSecond}",
        "Concurrency is 1 to 64, a bandwidth is not negative.",
        Where.SCHEMA,
        _SPEC,
    ),
    Row(
        "nodestore-endpoint",
        KIND,
        "spec.hub.{huggingFaceEndpoint,modelScopeEndpoint}",
        "An endpoint is an http(s) URL without credentials, query or fragment.",
        Where.CEL,
        _SPEC,
        tuple(form(f"spec.hub.{hub}Endpoint", forms.URL) for hub in ("huggingFace", "modelScope")),
    ),
    Row(
        "nodestore-proxy",
        KIND,
        "spec.hub.httpsProxy",
        "A proxy is blank, or an http(s) URL without credentials.",
        Where.CEL,
        _SPEC,
        (form("spec.hub.httpsProxy", forms.BLANK_OR_URL),),
    ),
    Row(
        "nodestore-no-proxy",
        KIND,
        "spec.hub.noProxy",
        "What is reached without the proxy is a comma-separated list of hosts.",
        Where.CEL,
        _SPEC,
        (form("spec.hub.noProxy", forms.NO_PROXY),),
    ),
    Row(
        "nodestore-ca-bundle",
        KIND,
        "spec.hub.caBundleConfigMap",
        "A CA bundle is blank, or the name of a ConfigMap.",
        Where.CEL,
        _SPEC,
        (form("spec.hub.caBundleConfigMap", forms.BLANK_OR_SUBDOMAIN),),
    ),
    Row(
        "nodestore-pinned",
        KIND,
        "spec.pinned[]",
        "What is pinned is a manifest digest.",
        Where.CEL,
        _SPEC,
        (form("spec.pinned.[]", forms.DIGEST),),
    ),
)
