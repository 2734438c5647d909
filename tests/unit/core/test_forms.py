"""Forms of values: what they take, and that references and rules agree on them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core import forms, refs
from gpustack_models.core.rules import table
from gpustack_models.core.rules.setting import problem_of
from gpustack_models.core.setting import CATALOGUE
from gpustack_models.errors import GsmError
from tests.resources import DIGEST

FOLDER, NAMES = "/var/lib/gpustack", ("model", "model-cache")
TOUCHES = forms.Form(forms.touches(FOLDER, *NAMES), "")
PATHS = st.lists(st.sampled_from(["var", "lib", "gpustack", "model", "model-cache", ".", "", "x"]), max_size=8).map(
    lambda parts: "/" + "/".join(parts)
)
TEXTS = st.one_of(
    st.text(max_size=12),
    st.text("aZ0-._/~^:?*[\\ @", max_size=10),
    st.sampled_from(
        [
            "main",
            "refs/pr/3",
            "a/b",
            "gpt2",
            "a..b/c",
            "a--b",
            "-x",
            "@",
            "a@{b",
            "a.lock/b",
            ".a",
            "a/.b",
            "a.git",
            "x" * 97,
            "a/" + "b" * 96,
            "a/b/c",
        ]
    ),
)


@given(PATHS)
def test_at_inside_and_around_is_what_a_file_system_means(path: str) -> None:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    owned = [[*FOLDER.strip("/").split("/"), name] for name in NAMES]
    touched = any(all(mine == theirs for mine, theirs in zip(parts, each, strict=False)) for each in owned)
    assert TOUCHES.fits(path) == touched


#: Where a pattern that can read them in many ways would try every one of them.
REPEATED = ["/", "/.", "/./", "//", "a", "a-", "a.", "-", ".", "a/", "a,", " ", "0", "1h", "_", ":", "%2f", "/model"]
FORMS = {name: form for name, form in vars(forms).items() if isinstance(form, forms.Form)} | {"TOUCHES": TOUCHES}


@pytest.mark.parametrize("name", FORMS)
def test_no_text_is_tried_in_every_way_that_it_could_be_read(name: str) -> None:
    for begin in ("", "/", "a", "http://a", "r.io/a", "/var/lib/gpustack/model"):
        for each in REPEATED:
            assert not FORMS[name].fits(begin + each * 500 + "\n\x00") or name == "TOUCHES"


def holds(rule: str, hub: str, text: str) -> bool:
    cel = next(cel for cel in table.BY_ID[rule].cel if hub in cel.at)
    return cel.holds(text)


@given(TEXTS, st.sampled_from(["huggingFace", "modelScope"]))
def test_a_revision_is_one_to_the_rules_as_to_references(text: str, hub: str) -> None:
    known = text and len(text) <= 255 and text.isprintable()
    assert (bool(known) and holds("artifact-revision", hub, text)) == taken(
        lambda: refs.hub_ref(refs.HubKind(hub), "a/b", text or "@")
    )


@given(TEXTS, st.sampled_from(["huggingFace", "modelScope"]))
def test_a_repository_is_one_to_the_rules_as_to_references(text: str, hub: str) -> None:
    assert holds("artifact-repository", hub, text) == taken(lambda: refs.hub_ref(refs.HubKind(hub), text, "main"))


@given(st.one_of(TEXTS, st.sampled_from([f"reg.io/a@{DIGEST}", f"r:5/a/b@{DIGEST}", f"a@{DIGEST}", "reg.io/a:v1"])))
def test_an_image_is_one_to_the_rules_as_to_references(text: str) -> None:
    rows = [table.BY_ID[f"artifact-image-{part}"] for part in ("tag", "digest", "name")]
    assert all(cel.holds(text) for row in rows for cel in row.cel) == taken(lambda: refs.parse(f"oci://{text}"))


def taken(parse: object) -> bool:
    assert callable(parse)
    try:
        parse()
    except GsmError:
        return False
    return True


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_every_default_keeps_its_own_rule(entry: object) -> None:
    assert isinstance(entry, type(CATALOGUE[0]))
    assert problem_of(entry.name, entry.default) == ""


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("model-artifact-huggingface-endpoint", "http://127.0.0.1:8080/hub", True),
        ("model-artifact-huggingface-endpoint", "https://[::1]:8080", True),
        ("model-artifact-huggingface-endpoint", "https://user:pw@h", False),
        ("model-artifact-huggingface-endpoint", "https://h?x=1", False),
        ("model-artifact-huggingface-endpoint", "https://h#x", False),
        ("model-artifact-huggingface-endpoint", "", False),
        ("model-artifact-modelscope-endpoint", "ftp://h", False),
        ("model-artifact-modelscope-endpoint", "https://h:65536", False),
        ("model-artifact-https-proxy", "http://proxy:3128", True),
        ("model-artifact-https-proxy", "http://user@proxy", False),
        ("model-artifact-no-proxy", "localhost, .svc,10.0.0.0/8,*", True),
        ("model-artifact-no-proxy", "a b", False),
        ("model-artifact-ca-bundle", "corporate-ca", True),
        ("model-artifact-ca-bundle", "Corporate CA", False),
        ("model-artifact-revalidate-interval", "1m", True),
        ("model-artifact-revalidate-interval", "60s", True),
        ("model-artifact-revalidate-interval", "1h30m", True),
        ("model-artifact-revalidate-interval", "59s", False),
        ("model-artifact-revalidate-interval", "1d", False),
        ("model-artifact-revalidate-interval", "-1h", False),
        ("model-artifact-revalidate-interval", "0", False),
        ("model-artifact-delivery-mode", "Node", True),
        ("model-artifact-delivery-mode", "node", False),
        ("model-store-high-watermark", "95", True),
        ("model-store-high-watermark", "96", False),
        ("model-store-high-watermark", "1", False),
        ("model-store-low-watermark", "1", True),
        ("model-store-low-watermark", "0", False),
        ("model-store-low-watermark", "95", False),
        ("model-store-download-concurrency", "64", True),
        ("model-store-download-concurrency", "65", False),
        ("model-store-download-concurrency", "0", False),
        ("model-store-download-bandwidth", "200Mi", True),
        ("model-store-download-bandwidth", "-1", False),
        ("model-store-download-bandwidth", "200 MB", False),
        ("model-store-peer-sync", "false", True),
        ("model-store-peer-sync", "yes", False),
        ("model-artifact-unknown", "x", False),
    ],
)
def test_a_settings_value_is_judged_by_its_rule(name: str, value: str, taken: bool) -> None:
    assert (problem_of(name, value) == "") is taken
