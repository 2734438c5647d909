"""Owns the words that state a claim on a command line."""

from __future__ import annotations

import pytest

from gpustack_models.core import claimtext
from gpustack_models.core.placement import claim_blocks, claim_terms
from gpustack_models.errors import GsmError


@pytest.mark.parametrize(
    ("text", "pods", "reason"),
    [
        ("models=Bound", 2, None),
        ("models=Bound,ReadWriteOnce", 1, None),
        ("models=RWO", 2, "AccessModeConflict"),
        ("models=ROX", 2, None),
        ("models=Bound,RWOP", 2, "AccessModeConflict"),
        ("models=WaitForFirstConsumer", 2, None),
        ("models=Pending,WaitForFirstConsumer,RWX", 2, None),
        ("models=no-provisioner", 1, "ClaimNotBound"),
        ("models=Pending,WaitForFirstConsumer,no-provisioner", 1, "ClaimNotBound"),
        ("models=Immediate", 1, "ClaimNotBound"),
        ("models=Pending", 1, "ClaimNotBound"),
        ("models=Lost", 1, "ClaimNotBound"),
        ("models=Missing", 1, "ClaimNotBound"),
        ("models=Bound,Immediate", 1, None),
    ],
)
def test_a_stated_claim_is_judged_as_a_real_one(text: str, pods: int, reason: str | None) -> None:
    name, claim = claimtext.parse(text)
    blocked = claim_blocks(name, claim, pods)
    assert (blocked.reason if blocked is not None else None) == reason


def test_a_volume_may_lie_on_nodes() -> None:
    _, claim = claimtext.parse("models=Bound,node=gpu-1,node=gpu-2")
    assert claim_terms(claim) == (
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["gpu-1", "gpu-2"]}]},
    )


@pytest.mark.parametrize(
    "text", ["", "models", "models=", "=Bound", "models=,", "models=bound", "models=Bound,rwx", "models=Bound,node="]
)
def test_what_states_nothing_is_refused_with_the_words_that_do(text: str) -> None:
    with pytest.raises(GsmError) as caught:
        claimtext.parse(text)
    assert "Bound" in caught.value.hint
