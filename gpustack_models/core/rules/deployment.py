"""Owns the rules of the ModelDeployment (workloads.md "ModelDeployment"; model-artifact.md "Referencing it").

Refuses engines' command lines by itself: `core.engines` reads them, and each of its rows is one here.
"""

from __future__ import annotations

import posixpath
from typing import Any

from gpustack_models.core import forms, paths
from gpustack_models.core.deployment import CACHE_PATH, MODEL_PATH
from gpustack_models.core.engines.catalogue import ENGINES
from gpustack_models.core.paths import Path
from gpustack_models.core.rules import volumes
from gpustack_models.core.rules.cel import form, frozen, path, text_at
from gpustack_models.core.rules.model import Cel, Row, Where

KIND = "ModelDeployment"
_SPEC = "workloads.md"
_ARTIFACT_SPEC = "model-artifact.md"
_ROLE = "spec.roles.[]"
#: The labels that find a deployment's Pods; another value would hide a Pod from its Service, or show it to another's.
OWNED_LABELS = tuple(f"app.kubernetes.io/{name}" for name in ("name", "instance", "component", "managed-by"))
#: Members of a role that never change, which is all but its name (its identity) and `replicas`.
FROZEN_OF_ROLE = (
    "kind",
    "image",
    "command",
    "extraArgs",
    "env",
    "port",
    "resources",
    "volumes",
    "labels",
    "nodeSelector",
    "tolerations",
    "imagePullSecrets",
    "serviceAccountName",
)
#: What hides the artifact's weights when something is mounted there.
_OWNED = forms.Form(
    forms.touches(posixpath.dirname(MODEL_PATH), *map(posixpath.basename, (MODEL_PATH, CACHE_PATH))),
    "apart from the model's folders",
)
_ELSE = "other weights, or another engine, are another ModelDeployment"


def _names(roles: list[dict[str, Any]]) -> list[str]:
    return [text_at(role, "name") for role in roles]


def _hidden_by(spec: dict[str, Any]) -> Path:
    """The first volume of a role that would hide the artifact's weights."""
    return next(found for found, mount in paths.each(spec, path("roles.[].volumes.[].mountPath")) if _OWNED.fits(mount))


def _forbidden_names() -> tuple[Cel, ...]:
    return tuple(
        Cel(
            path("spec"),
            f"self.engine.name != {forms.cel_string(engine.name)} || "
            f"!self.model.name.contains({forms.cel_string(bad)})",
            lambda spec, name=engine.name, bad=bad: spec["engine"]["name"] != name or bad not in spec["model"]["name"],
            f"must hold no {bad}: {why}",
            ("model", "name"),
        )
        for engine in ENGINES.values()
        for bad, why in engine.forbidden_in_name.items()
    )


ROWS: tuple[Row, ...] = (
    Row(
        "deployment-name",
        KIND,
        "metadata.name",
        "A deployment's name is a Service's name: a DNS label of at most 63 characters that begins with a letter.",
        Where.CEL,
        _SPEC,
        (
            Cel(
                (),
                forms.SERVICE_NAME.cel("self.metadata.name"),
                lambda value: forms.SERVICE_NAME.fits(text_at(value, "metadata", "name")),
                f"must be {forms.SERVICE_NAME.words}",
                ("metadata", "name"),
            ),
        ),
    ),
    Row(
        "deployment-frozen",
        KIND,
        "spec",
        "`spec.model`, `spec.engine`, `spec.kvCache` and every member of a role but `replicas` never change.",
        Where.BOTH,
        _SPEC,
        (
            frozen("spec.model", "name", f"spec.model.name is frozen: {_ELSE}"),
            frozen("spec.model", "artifactRef", f"spec.model.artifactRef is frozen: {_ELSE}"),
            *(
                frozen("spec.engine", member, f"spec.engine.{member} is frozen: {_ELSE}")
                for member in ("name", "version", "manufacturer")
            ),
            frozen("spec", "kvCache", "spec.kvCache is frozen: another KV cache is another ModelDeployment"),
            Cel(
                path("spec.roles"),
                "self.map(role, role.name) == oldSelf.map(role, role.name)",
                lambda new, old: _names(new) == _names(old),
                "spec.roles is frozen: roles are neither added, removed, renamed nor reordered; only their replicas "
                "change",
                transition=True,
            ),
            *(
                frozen(_ROLE, member, f"a role's {member} is frozen: only its replicas change")
                for member in FROZEN_OF_ROLE
            ),
        ),
    ),
    Row(
        "deployment-model-name",
        KIND,
        "spec.model.name",
        "The served name is a plain word: no control character, and not the beginning of a flag.",
        Where.CEL,
        _SPEC,
        (form("spec.model.name", forms.SERVED_NAME),),
    ),
    Row(
        "deployment-model-name-engine",
        KIND,
        "spec.model.name",
        "The served name is one that the engine can serve: no `:` with SGLang.",
        Where.CEL,
        "engines.md",
        _forbidden_names(),
    ),
    Row(
        "deployment-artifact-name",
        KIND,
        "spec.model.artifactRef.name",
        "A ModelArtifact is named by a DNS subdomain.",
        Where.CEL,
        _ARTIFACT_SPEC,
        (form("spec.model.artifactRef.name", forms.SUBDOMAIN),),
    ),
    Row("deployment-engine", KIND, "spec.engine.name", "The engine is vLLM or SGLang.", Where.SCHEMA, _SPEC),
    Row("deployment-roles-count", KIND, "spec.roles", "There are 1 to 10 roles.", Where.SCHEMA, _SPEC),
    Row(
        "deployment-role-name-unique",
        KIND,
        "spec.roles[].name",
        "No two roles have one name.",
        Where.SCHEMA,
        _SPEC,
    ),
    Row(
        "deployment-role-name",
        KIND,
        "spec.roles[].name",
        "A role's name is a DNS label, since Pods are named by it.",
        Where.CEL,
        _SPEC,
        (form(f"{_ROLE}.name", forms.LABEL),),
    ),
    Row(
        "deployment-replicas",
        KIND,
        "spec.roles[].replicas",
        "Replicas are not negative, and at most 10,000.",
        Where.SCHEMA,
        _SPEC,
    ),
    Row("deployment-port", KIND, "spec.roles[].port", "A port is 1 to 65535.", Where.SCHEMA, _SPEC),
    Row(
        "deployment-image",
        KIND,
        "spec.roles[].image",
        "A container image is named without blanks.",
        Where.CEL,
        _SPEC,
        (form(f"{_ROLE}.image", forms.IMAGE),),
    ),
    Row(
        "deployment-env-name",
        KIND,
        "spec.roles[].env[].name",
        "A variable's name is printable ASCII without `=`.",
        Where.CEL,
        _SPEC,
        (form(f"{_ROLE}.env.[].name", forms.ENV_NAME),),
    ),
    Row(
        "deployment-service-account",
        KIND,
        "spec.roles[].serviceAccountName",
        "A ServiceAccount is named by a DNS subdomain.",
        Where.CEL,
        _SPEC,
        (form(f"{_ROLE}.serviceAccountName", forms.BLANK_OR_NAME),),
    ),
    Row(
        "deployment-label-owned",
        KIND,
        "spec.roles[].labels",
        "The labels that find a deployment's Pods are the operator's.",
        Where.CEL,
        _SPEC,
        (
            Cel(
                path(f"{_ROLE}.labels"),
                "!self.exists(key, key in [" + ", ".join(map(forms.cel_string, OWNED_LABELS)) + "])",
                lambda labels: not any(key in labels for key in OWNED_LABELS),
                f"{', '.join(OWNED_LABELS)} are the operator's: the Service and the rollout find Pods by them",
            ),
        ),
    ),
    Row(
        "deployment-label-form",
        KIND,
        "spec.roles[].labels, spec.roles[].nodeSelector",
        "A label's value is letters, digits, `-`, `_` and `.`.",
        Where.CEL,
        _SPEC,
        tuple(form(f"{_ROLE}.{member}.[]", forms.LABEL_VALUE) for member in ("labels", "nodeSelector")),
    ),
    Row(
        "deployment-label-key",
        KIND,
        "spec.roles[].labels, spec.roles[].nodeSelector",
        "A label's key is an optional DNS subdomain and `/`, then letters, digits, `-`, `_` and `.`.",
        Where.WEBHOOK,
        _SPEC,
        check=volumes.label_keys(f"{_ROLE}.labels", f"{_ROLE}.nodeSelector"),
        scope=path(f"{_ROLE}.labels"),
    ),
    Row(
        "deployment-volume-name",
        KIND,
        "spec.roles[].volumes[].name",
        "A volume's name is a DNS label that does not begin with `gpustack-`, which the operator's do.",
        Where.CEL,
        _SPEC,
        (
            Cel(
                path(f"{_ROLE}.volumes.[].name"),
                f"{forms.LABEL.cel()} && !self.startsWith('gpustack-')",
                lambda text: forms.LABEL.fits(text) and not text.startswith("gpustack-"),
                f"must be {forms.LABEL.words}; and names that begin with gpustack- are the operator's",
            ),
        ),
    ),
    Row(
        "deployment-volume-source",
        KIND,
        "spec.roles[].volumes[]",
        "A volume has at most one source.",
        Where.CEL,
        _SPEC,
        (volumes.at_most_one_source(f"{_ROLE}.volumes.[]"),),
    ),
    Row(
        "deployment-volume-path",
        KIND,
        "spec.roles[].volumes[].mountPath",
        "A volume is mounted at an absolute path without `..` and `:`.",
        Where.CEL,
        _SPEC,
        (volumes.plain_path(f"{_ROLE}.volumes.[].mountPath"),),
    ),
    Row(
        "deployment-volume-sub-path",
        KIND,
        "spec.roles[].volumes[].subPath",
        "A sub-path stays inside the volume: relative, without `..`.",
        Where.CEL,
        _SPEC,
        (form(f"{_ROLE}.volumes.[].subPath", forms.SUB_PATH),),
    ),
    Row(
        "deployment-volume-path-unique",
        KIND,
        "spec.roles[].volumes",
        "No two volumes of a role are mounted at one path.",
        Where.CEL,
        _SPEC,
        (volumes.unique_paths(f"{_ROLE}.volumes"),),
    ),
    Row(
        "deployment-volume-owned-path",
        KIND,
        "spec.roles[].volumes[].mountPath",
        "While an artifact is referenced, no volume is mounted at, inside or around the model's folders.",
        Where.CEL,
        _ARTIFACT_SPEC,
        (
            Cel(
                path("spec"),
                "!has(self.model.artifactRef) || self.roles.all(role, !has(role.volumes) || "
                f"role.volumes.all(volume, !{_OWNED.cel('volume.mountPath')}))",
                lambda spec: (
                    "artifactRef" not in spec["model"]
                    or all(
                        not _OWNED.fits(mount) for _, mount in paths.each(spec, path("roles.[].volumes.[].mountPath"))
                    )
                ),
                f"a volume at, inside or around {MODEL_PATH} or {CACHE_PATH} would hide the artifact's weights",
                ("roles",),
                locate=_hidden_by,
            ),
        ),
    ),
)
