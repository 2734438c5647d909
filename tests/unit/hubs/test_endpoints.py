"""Owns where a hub's address is looked for, and what may be one. Refuses sockets."""

from __future__ import annotations

import pytest

from gpustack_models.core.refs import HubKind
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.endpoints import checked, find_endpoint

HF, MS = HubKind.HUGGING_FACE, HubKind.MODEL_SCOPE
EVERY = {"HF_ENDPOINT": "https://hf", "MODELSCOPE_ENDPOINT": "https://ms", "MODELSCOPE_DOMAIN": "domain"}

FOUND = {
    "the public hub": (HF, {}, "", "https://huggingface.co"),
    "the other public hub": (MS, {}, "", "https://www.modelscope.cn"),
    "the option": (HF, EVERY, "http://127.0.0.1:5000/", "http://127.0.0.1:5000"),
    "its variable": (HF, EVERY, "", "https://hf"),
    "an empty variable is unset": (HF, {"HF_ENDPOINT": " "}, "", "https://huggingface.co"),
    "the endpoint before the domain": (MS, EVERY, "", "https://ms"),
    "the domain": (MS, {"MODELSCOPE_ENDPOINT": "", "MODELSCOPE_DOMAIN": "domain"}, "", "https://domain"),
    "the domain with a scheme": (MS, {"MODELSCOPE_DOMAIN": "http://domain/"}, "", "http://domain"),
    "not the other hub's": (HF, {"MODELSCOPE_DOMAIN": "domain"}, "", "https://huggingface.co"),
}


@pytest.mark.parametrize(("kind", "environment", "option", "endpoint"), FOUND.values(), ids=FOUND.keys())
def test_where_an_endpoint_is_found(kind: HubKind, environment: dict[str, str], option: str, endpoint: str) -> None:
    assert find_endpoint(kind, environment, option) == endpoint


ACCEPTED = {
    "hub.example": "https://hub.example",
    "hub.example:8443/": "https://hub.example:8443",
    "https://hub.example//": "https://hub.example",
    "https://hub.example/hf/": "https://hub.example/hf",
    "http://[::1]:5000": "http://[::1]:5000",
}


@pytest.mark.parametrize(("text", "endpoint"), ACCEPTED.items(), ids=ACCEPTED.keys())
def test_what_is_an_endpoint(text: str, endpoint: str) -> None:
    assert checked(text, "x") == endpoint


REFUSED = [
    "https://user:planted@hub.example",
    "https://planted@hub.example",
    "https://hub.example?token=planted",
    "https://hub.example/#planted",
    "https://hub.example?",
    "https://hub.example#",
    "ftp://hub.example",
    "https://",
    "https://hub example",
    "https://hub.example:99999",
    "https://hüb.example",
    "https://hub.example\n.evil",
    "https://hub.example\\evil",
    "\0",
    "https://[::1",
]


@pytest.mark.parametrize("text", REFUSED, ids=[repr(text) for text in REFUSED])
def test_what_is_none_is_refused_by_the_name_of_its_source(text: str) -> None:
    with pytest.raises(GsmError, match="HF_ENDPOINT: ") as caught:
        find_endpoint(HF, {"HF_ENDPOINT": text})
    assert caught.value.reason is Reason.INVALID_INPUT
    assert "planted" not in caught.value.message + caught.value.hint
    assert caught.value.message.isprintable()
