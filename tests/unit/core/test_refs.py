"""Owns every form of a source reference: read, printed, refused with the nearest right form. Refuses the hubs."""

from __future__ import annotations

import re

import pytest
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # public, but not listed
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.refs import (
    DEFAULT_REVISION,
    ClaimRef,
    HubKind,
    HubRef,
    ImageRef,
    LocalRef,
    SourceRef,
    hub_ref,
    is_commit,
    parse,
    parse_hub,
)
from gpustack_models.errors import GsmError, Reason

HF, MS = HubKind.HUGGING_FACE, HubKind.MODEL_SCOPE
COMMIT = "7ae557604adf67be50417f59c2c2f167def9a775"
DIGEST = "sha256:" + "66" * 32

FORMS: dict[str, SourceRef] = {
    "hf://org/repo": HubRef(HF, "org/repo", "main"),
    "hf://org/repo@v1.0": HubRef(HF, "org/repo", "v1.0"),
    "HF://org/repo": HubRef(HF, "org/repo", "main"),
    "huggingface://org/repo": HubRef(HF, "org/repo", "main"),
    "org/repo": HubRef(HF, "org/repo", "main"),
    "org/repo/": HubRef(HF, "org/repo", "main"),
    "gpt2": HubRef(HF, "gpt2", "main"),
    "gpt2@main": HubRef(HF, "gpt2", "main"),
    "hf://org/repo@refs/pr/3": HubRef(HF, "org/repo", "refs/pr/3"),
    "hf://org/repo@feature/x": HubRef(HF, "org/repo", "feature/x"),
    "hf://org/repo@v1@2": HubRef(HF, "org/repo", "v1@2"),
    f"hf://org/repo@{COMMIT}": HubRef(HF, "org/repo", COMMIT),
    "hf://_a/b.c-d_e": HubRef(HF, "_a/b.c-d_e", "main"),
    "hf://org/repo@版本": HubRef(HF, "org/repo", "版本"),
    "ms://org/repo": HubRef(MS, "org/repo", "master"),
    "modelscope://org/repo@v2": HubRef(MS, "org/repo", "v2"),
    "pvc://models": ClaimRef("models"),
    "pvc://models/": ClaimRef("models"),
    "pvc://models/qwen/7b": ClaimRef("models", "qwen/7b"),
    "pvc://my.claim-1/a b": ClaimRef("my.claim-1", "a b"),
    f"oci://registry/repo@{DIGEST}": ImageRef("registry", "repo", DIGEST),
    f"oci://registry.example.com:5000/team/qwen@{DIGEST}": ImageRef("registry.example.com:5000", "team/qwen", DIGEST),
    f"oci://[::1]:5000/a/b__c.d--e@{DIGEST}": ImageRef("[::1]:5000", "a/b__c.d--e", DIGEST),
    "/srv/models": LocalRef("/srv/models"),
    "./a": LocalRef("./a"),
    "./a://b": LocalRef("./a://b"),
    "../a": LocalRef("../a"),
    ".": LocalRef("."),
    "~/models": LocalRef("~/models"),
    "file:///srv/a%20b": LocalRef("/srv/a b"),
    "file://localhost/srv": LocalRef("/srv"),
    "file:///srv/%FF": LocalRef("/srv/\udcff"),
}


@pytest.mark.parametrize(("text", "ref"), FORMS.items(), ids=FORMS.keys())
def test_every_form_is_read(text: str, ref: SourceRef) -> None:
    assert parse(text) == ref


@pytest.mark.parametrize("ref", FORMS.values(), ids=FORMS.keys())
def test_what_is_printed_reads_back(ref: SourceRef) -> None:
    assert parse(str(ref)) == ref


BROWSER = {
    "https://huggingface.co/org/repo": HubRef(HF, "org/repo", "main"),
    "https://huggingface.co/org/repo/": HubRef(HF, "org/repo", "main"),
    "https://HuggingFace.co/org/repo/tree/rev": HubRef(HF, "org/repo", "rev"),
    "https://hf.co/gpt2/tree/v1": HubRef(HF, "gpt2", "v1"),
    "https://huggingface.co/gpt2": HubRef(HF, "gpt2", "main"),
    "https://huggingface.co/org/repo/blob/rev/a/config.json": HubRef(HF, "org/repo", "rev"),
    "https://huggingface.co/org/repo/tree/refs%2Fpr%2F3": HubRef(HF, "org/repo", "refs/pr/3"),
    "https://huggingface.co/org/repo/tree/refs/pr/3/sub": HubRef(HF, "org/repo", "refs/pr/3"),
    "https://huggingface.co/org/repo/tree/feature%2Fx": HubRef(HF, "org/repo", "feature/x"),
    f"https://huggingface.co/org/repo/commit/{COMMIT}": HubRef(HF, "org/repo", COMMIT),
    "https://huggingface.co/org/tree": HubRef(HF, "org/tree", "main"),
    "https://huggingface.co/org/tree/tree/v2": HubRef(HF, "org/tree", "v2"),
    "https://huggingface.co/org/repo?library=vllm#files": HubRef(HF, "org/repo", "main"),
    "https://user:secret@huggingface.co/org/repo": HubRef(HF, "org/repo", "main"),
    "https://www.modelscope.cn/models/org/repo": HubRef(MS, "org/repo", "master"),
    "https://modelscope.cn/models/org/repo/summary": HubRef(MS, "org/repo", "master"),
    "https://modelscope.cn/models/org/repo/files?version=v1": HubRef(MS, "org/repo", "v1"),
    "https://modelscope.cn/models/org/repo/resolve/v2/a.bin": HubRef(MS, "org/repo", "v2"),
    "https://modelscope.cn/models/org/repo/file/view/v3?fileName=a.json": HubRef(MS, "org/repo", "v3"),
    "https://modelscope.ai/models/org/repo/tree/v4": HubRef(MS, "org/repo", "v4"),
}


@pytest.mark.parametrize(("text", "ref"), BROWSER.items(), ids=BROWSER.keys())
def test_a_browsers_address_is_normalised(text: str, ref: HubRef) -> None:
    assert parse(text) == ref
    assert parse(str(ref)) == ref


#: What is refused, a word of what is wrong, and the form that is shown.
REFUSED = {
    "": ("not a repository name", "hf://org/repo"),
    "hf://": ("not a repository name", "hf://org/repo"),
    "hf://org/repo@": ("nothing follows the @", "hf://org/repo@main"),
    "ms://org/repo@": ("nothing follows the @", "ms://org/repo@master"),
    "hf://org/repo/tree/v1": ("a repository is owner/name", "hf://org/repo@v1"),
    "a/b/c": ("a repository is owner/name", "hf://a/b"),
    "hf://datasets/org/repo": ("one of the hub's datasets", "hf://org/repo"),
    "hf://org//repo": ("a repository is owner/name", "hf://org/"),
    "org/re--po": ("not a repository name", "hf://org/repo"),
    "org/..": ("not a repository name", "hf://org/repo"),
    "org/repo.git": ("not a repository name", "hf://org/repo"),
    "-org/repo": ("not a repository name", "hf://org/repo"),
    "org/repo.": ("not a repository name", "hf://org/repo"),
    "org/" + "x" * 97: ("not a repository name", "hf://org/repo"),
    "org/re po": ("not a repository name", "hf://org/repo"),
    "org/répo": ("not a repository name", "hf://org/repo"),
    "ms://org/re%2Fpo": ("not a repository name", "ms://org/repo"),
    "org/repo@a b": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@../../x": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@a..b": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@a//b": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@/a": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@a/": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@.a": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@a/.b": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@a.": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@a.lock": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@@{1}": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@@": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@-f": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@a?b": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@a\nb": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@a\u202eb": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@\udcff": ("not a branch, tag or commit", "hf://org/repo@main"),
    "org/repo@" + "x" * 256: ("not a branch, tag or commit", "hf://org/repo@main"),
    "pvc://": ("not the name of a claim", "pvc://models/qwen"),
    "pvc://Models": ("not the name of a claim", "pvc://models/qwen"),
    "pvc://a..b": ("not the name of a claim", "pvc://models/qwen"),
    "pvc://" + "a" * 254: ("not the name of a claim", "pvc://models/qwen"),
    "pvc://models/../x": ("stay inside the volume", "pvc://models/qwen"),
    "pvc://models//x": ("stay inside the volume", "pvc://models/qwen"),
    "pvc://models/a\0b": ("stay inside the volume", "pvc://models/qwen"),
    "pvc://models/\udcff": ("stay inside the volume", "pvc://models/qwen"),
    "oci://registry/repo:v1": ("a tag can move", "oci://registry/repo@"),
    "oci://registry/repo": ("a tag can move", "oci://registry/repo@"),
    f"oci://registry/repo:v1@{DIGEST}": ("leave it out", f"oci://registry/repo@{DIGEST}"),
    "oci://registry/repo@sha256:66": ("64 lowercase hex", "oci://registry/repo@sha256:<64 hex>"),
    f"oci://registry/repo@{DIGEST.upper()}": ("64 lowercase hex", "oci://registry/repo@sha256:<64 hex>"),
    f"oci://registry@{DIGEST}": ("an image is", "oci://registry/repo@sha256:<64 hex>"),
    f"oci://registry/Repo@{DIGEST}": ("an image is", "oci://registry/repo@sha256:<64 hex>"),
    f"oci://registry/a//b@{DIGEST}": ("an image is", "oci://registry/repo@sha256:<64 hex>"),
    f"oci://registry/{'a/' * 600}a@{DIGEST}": ("an image is", "oci://registry/repo@sha256:<64 hex>"),
    "file://host/srv": ("no host", "file:///"),
    "file://srv": ("no host", "file:///srv"),
    "/srv/\0": ("NUL", "a directory"),
    "file:///srv/%00": ("NUL", "a directory"),
    "hf:/org/repo": ("two slashes", "hf://org/repo"),
    "MS:/org/repo@v1": ("two slashes", "ms://org/repo"),
    "hf:/gpt2": ("two slashes", "hf://gpt2"),
    "s3://bucket/model": ("not a scheme", "hf://org/repo"),
    "https://example.com/org/repo": ("known hub", "hf://org/repo"),
    "https://huggingface.co.example.com/org/repo": ("known hub", "hf://org/repo"),
    "https://huggingface.co/": ("no model", "hf://org/repo"),
    "https://huggingface.co/datasets/org/repo": ("the hub's datasets", "hf://org/repo"),
    "https://huggingface.co/org/repo/discussions/3": ("a repository is owner/name", "hf://org/repo"),
    "https://modelscope.cn/datasets/org/repo": ("the hub's datasets", "ms://org/repo"),
    "https://[": ("not a web address", "hf://org/repo"),
}


@pytest.mark.parametrize(("text", "told"), REFUSED.items(), ids=[repr(text)[:60] for text in REFUSED])
def test_what_names_no_source_is_refused_with_the_nearest_form(text: str, told: tuple[str, str]) -> None:
    wrong, nearest = told
    with pytest.raises(GsmError, match=re.escape(wrong)) as caught:
        parse(text)
    assert caught.value.reason is Reason.INVALID_REFERENCE
    assert f"write {nearest}" in caught.value.hint or f"or {nearest}" in caught.value.hint
    caught.value.message.encode()
    assert len(caught.value.message) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "https://user:planted@example.com/org/repo",
        "https://example.com/org/repo?token=planted",
        "https://huggingface.co/a/b/discussions/1?token=planted",
        "s3://key:planted@bucket/model",
    ],
)
def test_a_refusal_never_repeats_a_credential_of_an_address(text: str) -> None:
    with pytest.raises(GsmError) as caught:
        parse(text)
    assert "planted" not in f"{caught.value.message}{caught.value.hint}"


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_and_what_is_read_prints_back(text: str) -> None:
    for scheme in ("", "hf://", "ms://", "pvc://", "oci://", "file://", "https://", "https://huggingface.co/", "./"):
        try:
            ref = parse(scheme + text)
        except GsmError as error:
            refused = error
        else:
            assert parse(str(ref)) == ref
            continue
        assert refused.reason is Reason.INVALID_REFERENCE


@given(st.text(st.sampled_from("aA0_-./é"), max_size=12))
def test_a_repository_is_accepted_when_the_hubs_client_accepts_it(name: str) -> None:
    try:
        validate_repo_id(name)
        expected = True
    except HFValidationError:
        expected = False
    try:
        accepted = hub_ref(HF, name).repository == name
    except GsmError:
        accepted = False
    assert accepted is expected


def test_an_artifacts_fields_have_the_hubs_default_revision() -> None:
    assert [hub_ref(kind, "org/repo").revision for kind in (HF, MS)] == ["main", "master"]
    assert {HF: "main", MS: "master"} == DEFAULT_REVISION


def test_a_commit_is_40_lowercase_hex() -> None:
    assert HubRef(HF, "a/b", COMMIT).is_commit
    assert not any(map(is_commit, (COMMIT[:-1], COMMIT.upper(), COMMIT + "\n", "main")))


def test_only_a_repository_will_do_where_a_hub_is_asked() -> None:
    assert parse_hub("ms://a/b@c") == HubRef(MS, "a/b", "c")
    with pytest.raises(GsmError, match="names no hub repository"):
        parse_hub("pvc://models")
