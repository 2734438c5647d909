"""Owns the rules of the ModelArtifact (model-artifact.md "The resource"; workloads.md "Image artifacts").

Refuses to ask a hub, a Secret or a claim: their absence is a reason in status.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpustack_models.core import forms
from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.rules.cel import form, path
from gpustack_models.core.rules.model import Case, Cel, Operation, Problem, Row, Where

KIND = "ModelArtifact"
_SPEC = "model-artifact.md"
_HUBS = ("huggingFace", "modelScope")
_MEMBERS = (*_HUBS, "persistentVolumeClaim", "image")
#: What git refuses in the name of a ref (git-check-ref-format), in CEL and in Python.
_NOT_A_REF = (
    *(f"startsWith({forms.cel_string(text)})" for text in ("-", ".", "/")),
    *(f"contains({forms.cel_string(text)})" for text in ("..", "@{", "/.", "//", ".lock/")),
    *(f"endsWith({forms.cel_string(text)})" for text in (".", "/", ".lock")),
)
_REF = re.compile(r"\A[-./]|\.\.|@\{|/[./]|\.lock(?:/|\Z)|[./]\Z")
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?!\d)")
#: The first API server whose image volumes are on without a gate being opened.
IMAGE_FLOOR = (1, 35)


def _hub_only(member: str, words: str, *, empty: str = "false") -> Cel:
    has_hub = " || ".join(f"has(self.source.{hub})" for hub in _HUBS)
    return Cel(
        path("spec"),
        f"!has(self.{member}) || {empty} || {has_hub}",
        lambda spec: not spec.get(member) or any(hub in spec["source"] for hub in _HUBS),
        words,
        (member,),
    )


def _segments_stay(text: str) -> bool:
    return not any(segment in ("", ".", "..") for segment in text.split("/"))


def _revision(hub: str) -> Cel:
    return Cel(
        path(f"spec.source.{hub}.revision"),
        " && ".join((forms.REVISION.cel(), "self != '@'", *(f"!self.{test}" for test in _NOT_A_REF))),
        lambda text: forms.REVISION.fits(text) and text != "@" and _REF.search(text) is None,
        "must be a branch, tag or commit as git names them: without blanks, ~ ^ : ? * [ \\ .. @{ // and control "
        "characters, no part beginning with . or ending with .lock, not beginning with - and not ending with . or /",
    )


def _repository(hub: str) -> Cel:
    return Cel(
        path(f"spec.source.{hub}.repository"),
        f"{forms.REPOSITORY.cel()} && !self.contains('..') && !self.contains('--') && !self.endsWith('.git')",
        lambda text: forms.REPOSITORY.fits(text) and not any((".." in text, "--" in text, text.endswith(".git"))),
        "must be owner/name, or a bare legacy name, of letters, digits, ., _ and -, without .., -- and .git at the end",
    )


def _one_source(source: dict[str, Any]) -> bool:
    return sum(member in source for member in _MEMBERS) == 1


def _visible(case: Case[ModelArtifact]) -> Iterator[Problem]:
    # CEL's classes of Unicode are another version's than ours, so this is judged here alone.
    hub = case.new.spec.source.hub
    if hub is not None and not hub.revision.isprintable():
        member = "huggingFace" if case.new.spec.source.hugging_face else "modelScope"
        shown = hub.revision.encode("unicode_escape").decode()
        words = f"holds an invisible character, so that two revisions look alike: {shown}"
        yield Problem(("spec", "source", member, "revision"), words, "type the revision anew")


def _image_version(case: Case[ModelArtifact]) -> Iterator[Problem]:
    version = case.facts.kubernetes_version
    if case.new.spec.source.image is None or version is None:
        return
    match = _VERSION.match(version)
    if match and (int(match[1]), int(match[2])) >= IMAGE_FLOOR:
        return
    found = f"this API server is {match[0]}" if match else f"this API server's version cannot be read ({version!r})"
    yield Problem(
        ("spec", "source", "image"),
        f"an image artifact needs Kubernetes 1.35 or newer, where image volumes are on; {found}. "
        "Use a huggingFace, modelScope or persistentVolumeClaim source instead",
    )


_NAME, _DIGEST = "self.split('@')[0]", "self.split('@')[1]"
_IMAGE = path("spec.source.image.reference")

ROWS: tuple[Row, ...] = (
    Row(
        "artifact-source-one",
        KIND,
        "spec.source",
        "A source has exactly one member.",
        Where.CEL,
        _SPEC,
        (
            Cel(
                path("spec.source"),
                "[" + ", ".join(f"has(self.{member})" for member in _MEMBERS) + "].filter(given, given).size() == 1",
                _one_source,
                f"exactly one of {', '.join(_MEMBERS)} must be set",
            ),
        ),
    ),
    Row(
        "artifact-immutable",
        KIND,
        "spec",
        "The spec never changes: other weights, or another revision, are a new artifact.",
        Where.CEL,
        _SPEC,
        (
            Cel(
                path("spec"),
                "self == oldSelf",
                lambda new, old: bool(new == old),
                "spec is immutable: other weights, or another revision, are a new ModelArtifact",
                transition=True,
            ),
        ),
    ),
    Row(
        "artifact-repository",
        KIND,
        "spec.source.{huggingFace,modelScope}.repository",
        "A repository is `owner/name`, or a bare legacy name.",
        Where.CEL,
        "hubs.md",
        tuple(map(_repository, _HUBS)),
    ),
    Row(
        "artifact-revision",
        KIND,
        "spec.source.{huggingFace,modelScope}.revision",
        "A revision is a branch, tag or commit, as git names them.",
        Where.CEL,
        "hubs.md",
        tuple(map(_revision, _HUBS)),
    ),
    Row(
        "artifact-revision-visible",
        KIND,
        "spec.source.{huggingFace,modelScope}.revision",
        "A revision has no invisible character.",
        Where.WEBHOOK,
        "this project",
        check=_visible,
        scope=path("spec.source"),
    ),
    Row(
        "artifact-secret-name",
        KIND,
        "spec.source.{huggingFace,modelScope}.secretRef.name",
        "A Secret is named by a DNS subdomain.",
        Where.CEL,
        _SPEC,
        tuple(form(f"spec.source.{hub}.secretRef.name", forms.SUBDOMAIN) for hub in _HUBS),
    ),
    Row(
        "artifact-claim-name",
        KIND,
        "spec.source.persistentVolumeClaim.claimName",
        "A claim is named by a DNS subdomain.",
        Where.CEL,
        _SPEC,
        (form("spec.source.persistentVolumeClaim.claimName", forms.SUBDOMAIN),),
    ),
    Row(
        "artifact-claim-path",
        KIND,
        "spec.source.persistentVolumeClaim.path",
        "A claim's path stays inside the volume: relative, without empty, `.` or `..` segments.",
        Where.CEL,
        _SPEC,
        (
            Cel(
                path("spec.source.persistentVolumeClaim.path"),
                f"self == '' || ({forms.PLAIN.cel()} && self.split('/').all(s, s != '' && s != '.' && s != '..'))",
                lambda text: text == "" or (forms.PLAIN.fits(text) and _segments_stay(text)),
                "must be a directory inside the volume: relative, without control characters, a trailing /, or an "
                "empty, . or .. segment",
            ),
        ),
    ),
    Row(
        "artifact-image-tag",
        KIND,
        "spec.source.image.reference",
        "An image is named by its digest; a tag and a bare name are refused.",
        Where.CEL,
        "workloads.md",
        (
            Cel(
                _IMAGE,
                "self.contains('@')",
                lambda text: "@" in text,
                "names no digest: a tag or a bare name can move, and only a digest names an image; write "
                "<registry>/<repository>@sha256:<64 lowercase hex>",
            ),
        ),
    ),
    Row(
        "artifact-image-digest",
        KIND,
        "spec.source.image.reference",
        "An image's digest is `sha256:` and 64 lowercase hex; uppercase hex is refused.",
        Where.CEL,
        "workloads.md",
        (
            Cel(
                _IMAGE,
                f"!self.contains('@') || (self.split('@').size() == 2 && {forms.DIGEST.cel(_DIGEST)})",
                lambda text: "@" not in text or (text.count("@") == 1 and forms.DIGEST.fits(text.split("@")[1])),
                "what follows the @ must be sha256: and 64 lowercase hexadecimal digits: registries compare digests as "
                "text",
            ),
        ),
    ),
    Row(
        "artifact-image-name",
        KIND,
        "spec.source.image.reference",
        "An image's name is `<registry>/<repository>`, without a tag.",
        Where.CEL,
        "workloads.md",
        (
            Cel(
                _IMAGE,
                f"!self.contains('@') || {forms.IMAGE_NAME.cel(_NAME)}",
                lambda text: "@" not in text or forms.IMAGE_NAME.fits(text.split("@")[0]),
                "what precedes the @ must be <registry>/<repository>, in lowercase and without a tag: beside a digest "
                "a tag says nothing",
            ),
        ),
    ),
    Row(
        "artifact-patterns-hub-only",
        KIND,
        "spec.allowPatterns, spec.ignorePatterns",
        "Patterns are for hub sources; a claim's and an image's content is taken whole.",
        Where.CEL,
        _SPEC,
        tuple(
            _hub_only(
                member,
                f"{member} selects files of a hub source; a claim or an image is taken whole",
                empty=f"self.{member}.size() == 0",
            )
            for member in ("allowPatterns", "ignorePatterns")
        ),
    ),
    Row(
        "artifact-pattern-count",
        KIND,
        "spec.allowPatterns, spec.ignorePatterns",
        "A list has at most 32 patterns.",
        Where.SCHEMA,
        _SPEC,
    ),
    Row(
        "artifact-pattern-length",
        KIND,
        "spec.allowPatterns[], spec.ignorePatterns[]",
        "A pattern has 1 to 256 characters.",
        Where.SCHEMA,
        _SPEC,
    ),
    Row(
        "artifact-digest-form",
        KIND,
        "spec.expectedDigest",
        "A digest is `sha256:` and 64 lowercase hex.",
        Where.CEL,
        _SPEC,
        (form("spec.expectedDigest", forms.DIGEST),),
    ),
    Row(
        "artifact-digest-hub-only",
        KIND,
        "spec.expectedDigest",
        "An expected digest is for hub sources.",
        Where.CEL,
        _SPEC,
        (
            _hub_only(
                "expectedDigest",
                "expectedDigest asserts what a hub source resolves to; a claim's identity is the claim, an image's its "
                "reference's digest",
                empty="self.expectedDigest == ''",
            ),
        ),
    ),
    Row(
        "artifact-image-version",
        KIND,
        "spec.source.image",
        "An image artifact is created only where the API server is 1.35 or newer, and of a version that can be read.",
        Where.WEBHOOK,
        "workloads.md",
        check=_image_version,
        scope=path("spec.source"),
        operations=frozenset({Operation.CREATE}),
    ),
)
