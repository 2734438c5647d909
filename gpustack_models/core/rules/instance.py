"""Owns the rules of the Instance (workloads.md "Instance"; model-artifact.md "Instance model volumes").

Refuses to look at an artifact: an Instance may name one that does not exist yet.
"""

from __future__ import annotations

from gpustack_models.core import forms
from gpustack_models.core.rules import volumes
from gpustack_models.core.rules.cel import form, path, text_at
from gpustack_models.core.rules.model import Cel, Row, Where

KIND = "Instance"
_SPEC = "workloads.md"
_ARTIFACT_SPEC = "model-artifact.md"
_VOLUME = "spec.additionalVolumes.[]"
MAX_NAME = 63

ROWS: tuple[Row, ...] = (
    Row(
        "instance-name",
        KIND,
        "metadata.name",
        "An Instance's name has at most 63 characters, since its Pod is labelled with it.",
        Where.CEL,
        _SPEC,
        (
            Cel(
                (),
                f"self.metadata.name.size() <= {MAX_NAME}",
                lambda value: len(text_at(value, "metadata", "name")) <= MAX_NAME,
                f"must have at most {MAX_NAME} characters, since its Pod is labelled with it",
                ("metadata", "name"),
            ),
        ),
    ),
    Row(
        "instance-image",
        KIND,
        "spec.image",
        "A container image is named without blanks.",
        Where.CEL,
        _SPEC,
        (form("spec.image", forms.IMAGE),),
    ),
    Row(
        "instance-env-name",
        KIND,
        "spec.env[].name",
        "A variable's name is printable ASCII without `=`.",
        Where.CEL,
        _SPEC,
        (form("spec.env.[].name", forms.ENV_NAME),),
    ),
    Row(
        "instance-node-name",
        KIND,
        "spec.nodeName",
        "A node is named by a DNS subdomain.",
        Where.CEL,
        _SPEC,
        (form("spec.nodeName", forms.BLANK_OR_NAME),),
    ),
    Row(
        "instance-label-form",
        KIND,
        "spec.labels, spec.nodeSelector",
        "A label's value is letters, digits, `-`, `_` and `.`.",
        Where.CEL,
        _SPEC,
        tuple(form(f"spec.{member}.[]", forms.LABEL_VALUE) for member in ("labels", "nodeSelector")),
    ),
    Row(
        "instance-label-key",
        KIND,
        "spec.labels, spec.nodeSelector",
        "A label's key is an optional DNS subdomain and `/`, then letters, digits, `-`, `_` and `.`.",
        Where.WEBHOOK,
        _SPEC,
        check=volumes.label_keys("spec.labels", "spec.nodeSelector"),
        scope=path("spec.labels"),
    ),
    Row(
        "instance-volume-source",
        KIND,
        "spec.additionalVolumes[]",
        "A volume is a model, or has one source of core/v1 Volume.",
        Where.CEL,
        _SPEC,
        (volumes.one_source(_VOLUME, "model"),),
    ),
    Row(
        "instance-model-read-only",
        KIND,
        "spec.additionalVolumes[].readOnly",
        "A model volume is always read-only.",
        Where.CEL,
        _ARTIFACT_SPEC,
        (
            Cel(
                path(_VOLUME),
                "!has(self.model) || !has(self.readOnly) || self.readOnly",
                lambda volume: "model" not in volume or volume.get("readOnly", True),
                "a model is always mounted read-only: its copy is shared by every Pod of the node",
                ("readOnly",),
            ),
        ),
    ),
    Row(
        "instance-model-sub-path",
        KIND,
        "spec.additionalVolumes[].subPath",
        "A model volume takes no `subPath`.",
        Where.CEL,
        _ARTIFACT_SPEC,
        (
            Cel(
                path(_VOLUME),
                "!has(self.model) || !has(self.subPath) || self.subPath == ''",
                lambda volume: "model" not in volume or not volume.get("subPath"),
                "a model takes no subPath; a claim artifact's own path says which directory it is",
                ("subPath",),
            ),
        ),
    ),
    Row(
        "instance-artifact-name",
        KIND,
        "spec.additionalVolumes[].model.artifactRef.name",
        "A ModelArtifact is named by a DNS subdomain.",
        Where.CEL,
        _ARTIFACT_SPEC,
        (form(f"{_VOLUME}.model.artifactRef.name", forms.SUBDOMAIN),),
    ),
    Row(
        "instance-volume-sub-path",
        KIND,
        "spec.additionalVolumes[].subPath",
        "A sub-path stays inside the volume: relative, without `..`.",
        Where.CEL,
        _SPEC,
        (form(f"{_VOLUME}.subPath", forms.SUB_PATH),),
    ),
    Row(
        "instance-volume-path",
        KIND,
        "spec.additionalVolumes[].mountPath",
        "A volume is mounted at an absolute path without `..` and `:`.",
        Where.CEL,
        _SPEC,
        (volumes.plain_path(f"{_VOLUME}.mountPath"),),
    ),
    Row(
        "instance-volume-path-unique",
        KIND,
        "spec.additionalVolumes[].mountPath",
        "No two volumes are mounted at one path.",
        Where.SCHEMA,
        _SPEC,
    ),
)
