"""What is rendered is what the real API server takes: every golden Pod and Service, whole, by a dry run on its side."""

from __future__ import annotations

import json
from typing import Any

import yaml

from gpustack_models.core.delivery.plan import lost_weights
from tests import examples
from tests.bed.fixtures import Namespace

_SEPARATOR = "---\n"


def _created(namespace: str) -> list[dict[str, Any]]:
    """Every Pod and Service of the examples, all in one namespace; the golden's name in a label, to be found by."""
    found = []
    for example in examples.every():
        for document in yaml.safe_load_all(example.golden.read_text()):
            if document["kind"] in ("Pod", "Service"):
                metadata = document["metadata"]
                metadata["namespace"] = namespace
                metadata["labels"]["example"] = example.name
                found.append(document)
    return found


def _beyond(rendered: Any, taken: Any, path: str = "") -> list[str]:
    """The fields of the rendered object that the API server's answer lacks or has otherwise."""
    if isinstance(rendered, dict):
        if not isinstance(taken, dict):
            return [path]
        return [each for name in rendered for each in _beyond(rendered[name], taken.get(name), f"{path}.{name}")]
    if isinstance(rendered, list):
        if not isinstance(taken, list) or len(taken) < len(rendered):
            return [path]
        pairs = zip(rendered, taken, strict=False)
        return [each for index, pair in enumerate(pairs) for each in _beyond(*pair, f"{path}[{index}]")]
    return [] if rendered == taken else [f"{path}: {rendered!r} became {taken!r}"]


def _each(answer: str) -> list[dict[str, Any]]:
    """kubectl prints one JSON object after the other."""
    decoder, found, position = json.JSONDecoder(), [], 0
    while position < len(answer):
        value, end = decoder.raw_decode(answer, position)
        found.append(value)
        position = end + len(answer[end:]) - len(answer[end:].lstrip())
    return found


def test_every_rendered_object_is_taken_whole_by_the_api_server(namespace: Namespace) -> None:
    rendered = _created(namespace.name)
    assert {"claim-vllm", "engine-modelscope-sglang", "node-huggingface-vllm", "image-sglang", "instance-hub"} <= {
        each["metadata"]["labels"]["example"] for each in rendered
    }
    stream = _SEPARATOR.join(yaml.safe_dump(each) for each in rendered)
    # Strict: a field that the API server does not know is an error, not a warning.
    answer = namespace.kubectl("create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-", stdin=stream)
    taken = _each(answer)
    assert len(taken) == len(rendered)
    for ours, theirs in zip(rendered, taken, strict=True):
        example = ours["metadata"]["labels"]["example"]
        assert theirs["kind"] == ours["kind"]
        assert _beyond(ours["spec"], theirs["spec"]) == [], example
        assert _beyond(ours["metadata"], theirs["metadata"]) == [], example
        if ours["kind"] == "Pod":
            assert lost_weights(ours, theirs) == ""
