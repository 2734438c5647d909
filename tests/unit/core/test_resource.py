"""Resources survive a round trip, whatever else stands in them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.deployment import ModelDeployment
from gpustack_models.core.kinds import BY_KIND
from gpustack_models.core.nodestore import NodeModelStore
from gpustack_models.core.refs import HubKind, HubRef
from gpustack_models.core.setting import CATALOGUE, Settings
from gpustack_models.errors import GsmError, Reason
from tests.resources import ALL, CLAIM, DEPLOYMENT, HUGGING_FACE, MODEL_SCOPE, Object

EXTRA = st.dictionaries(
    st.from_regex(r"x[A-Za-z]{1,8}", fullmatch=True),
    st.one_of(st.booleans(), st.integers(), st.text(), st.lists(st.integers()), st.dictionaries(st.text(), st.text())),
    max_size=3,
)


@pytest.mark.parametrize("base", ALL.values(), ids=ALL)
@settings(max_examples=20)
@given(EXTRA)
def test_unknown_members_survive_a_round_trip(base: Object, extra: Object) -> None:
    value = deepcopy(base)
    for holder in maps(value):
        holder.update(extra)
    assert BY_KIND[value["kind"]].parse(value).to_object() == value


def maps(value: Any) -> list[dict[str, Any]]:
    """Every map of an object that a model reads."""
    if isinstance(value, list):
        return [found for item in value for found in maps(item)]
    if not isinstance(value, dict):
        return []
    inner = (part for name, part in value.items() if name not in ("labels", "limits", "requests", "nodeSelector"))
    return [value, *(found for part in inner for found in maps(part))]


def test_a_null_member_is_an_absent_one() -> None:
    value = {
        **HUGGING_FACE,
        "spec": {"source": {"huggingFace": {"repository": "a/b", "secretRef": None}, "image": None}},
    }
    artifact = ModelArtifact.parse(value)
    assert artifact.spec.source.image is None
    assert artifact.to_object()["spec"] == {"source": {"huggingFace": {"repository": "a/b"}}}


def test_an_unreadable_object_is_named_with_its_field() -> None:
    with pytest.raises(GsmError) as caught:
        ModelArtifact.parse({**HUGGING_FACE, "spec": {"source": []}})
    assert caught.value.reason is Reason.INVALID_INPUT
    assert "ModelArtifact 'qwen-7b': spec.source" in caught.value.message


def test_defaults_are_those_of_the_specification() -> None:
    assert ModelArtifact.parse(HUGGING_FACE).spec.hub_ref == HubRef(
        HubKind.HUGGING_FACE, "Qwen/Qwen2.5-7B-Instruct", "main"
    )
    bare = {**MODEL_SCOPE, "spec": {"source": {"modelScope": {"repository": "qwen/q"}}}}
    assert ModelArtifact.parse(bare).spec.hub_ref == HubRef(HubKind.MODEL_SCOPE, "qwen/q", "master")
    assert ModelArtifact.parse(CLAIM).spec.hub_ref is None
    store = NodeModelStore.parse({"apiVersion": "worker.gpustack.ai/v1", "kind": "NodeModelStore"})
    assert (store.spec.watermarks.high_percent, store.spec.watermarks.low_percent) == (80, 70)
    assert (store.spec.download.concurrency, store.spec.download.bytes_per_second) == (8, 0)


def test_a_volume_is_taken_apart_into_volume_and_mount() -> None:
    volume = ModelDeployment.parse(DEPLOYMENT).spec.roles[0].volumes[1]
    assert volume.volume == {"name": "data", "hostPath": {"path": "/d"}}
    assert volume.mount == {"name": "data", "mountPath": "/data", "subPath": "a", "readOnly": True}


def test_a_role_with_a_command_is_not_managed() -> None:
    assert [role.managed for role in ModelDeployment.parse(DEPLOYMENT).spec.roles] == [True, False]


def test_a_setting_that_is_not_set_has_its_default() -> None:
    settings = Settings({"model-store-peer-sync": "false"})
    assert settings["model-store-peer-sync"] == "false"
    assert settings["model-artifact-revalidate-interval"] == "24h"


def test_settings_are_seeded_from_their_variables() -> None:
    assert CATALOGUE[0].variable == "GPUSTACK_MODEL_ARTIFACT_HUGGINGFACE_ENDPOINT"
    assert len(CATALOGUE) == 12
