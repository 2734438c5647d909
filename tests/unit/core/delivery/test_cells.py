"""Owns the delivery table: every engine, delivery, kind of role and KV cache is one cell, with what it renders.

Refuses expectations taken from the code: each is written here from the specification's tables.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from gpustack_models.core.delivery.plan import plan
from tests.unit.core.delivery.make import (
    COMMIT,
    DIGEST,
    IMAGE,
    SIZE,
    UID,
    artifact,
    cluster,
    deployment,
    role,
)

HUB_IDENTITY = "m-669ed7b128b6ad1658d735326bd172a3"
#: printf %s 3f0c1a52-8f5e-4f43-9f0b-7b8c1f2d3e4a | sha256sum | cut -c1-32
UID_IDENTITY = "m-8ac60f20452e1cd58de0856091e50acb"
CACHE_SIZE = 2073345950  # 999604126 + 1 GiB, which is more than a tenth more


@dataclass(frozen=True)
class Row:
    """One column of the specification's delivery table."""

    source: str
    mode: str
    model: tuple[str, ...]
    volume: dict[str, Any] | None
    subpath: str = ""
    env: tuple[tuple[str, object], ...] = ()
    caches: bool = False


def _csi(secret: str) -> dict[str, Any]:
    return {
        "csi": {
            "driver": "model.csi.gpustack.ai",
            "readOnly": True,
            "volumeAttributes": {"artifact": "qwen", "artifactUID": UID, "manifestDigest": DIGEST},
            "nodePublishSecretRef": {"name": secret},
        }
    }


def _from_secret(name: str) -> dict[str, Any]:
    return {"secretKeyRef": {"name": name, "key": "token"}}


MOUNT = ("/var/lib/gpustack/model",)
ROWS = {
    "claim": Row(
        "claim", "Engine", MOUNT, {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}}, "qwen"
    ),
    "claim-under-Node": Row(
        "claim", "Node", MOUNT, {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}}, "qwen"
    ),
    "huggingFace-Engine": Row(
        "huggingFace",
        "Engine",
        ("Qwen/Qwen2.5-7B-Instruct", "--revision", COMMIT),
        None,
        env=(
            ("HF_HOME", "/var/lib/gpustack/model-cache"),
            ("HF_ENDPOINT", "https://huggingface.co"),
            ("HF_TOKEN", _from_secret("hf-token")),
        ),
        caches=True,
    ),
    "modelScope-Engine": Row(
        "modelScope",
        "Engine",
        ("qwen/Qwen2.5-7B-Instruct", "--revision", COMMIT),
        None,
        env=(
            ("MODELSCOPE_CACHE", "/var/lib/gpustack/model-cache"),
            ("MODELSCOPE_DOMAIN", "www.modelscope.cn"),
            ("{ENGINE}_USE_MODELSCOPE", "true"),
            ("MODELSCOPE_API_TOKEN", _from_secret("ms-token")),
        ),
        caches=True,
    ),
    "huggingFace-Node": Row("huggingFace", "Node", MOUNT, _csi("hf-token")),
    "modelScope-Node": Row("modelScope", "Node", MOUNT, _csi("ms-token")),
    "image": Row("image", "Engine", MOUNT, {"image": {"reference": IMAGE, "pullPolicy": "IfNotPresent"}}),
    "image-under-Node": Row("image", "Node", MOUNT, {"image": {"reference": IMAGE, "pullPolicy": "IfNotPresent"}}),
}
ENGINES = ("vLLM", "SGLang")
CELLS = [
    pytest.param(*cell, id="-".join(cell)) for cell in product(ENGINES, ROWS, ("managed", "take-over"), ("plain", "kv"))
]


def _command(engine: str) -> list[str]:
    return ["vllm", "serve"] if engine == "vLLM" else ["python3", "-m", "sglang.launch_server"]


def _line(engine: str, row: Row, kv: str) -> list[str]:
    model = list(row.model) if engine == "vLLM" else ["--model-path", *row.model]
    line = [*model, "--host", "0.0.0.0", "--port", "8000", "--served-model-name", "qwen-7b"]
    if kv == "plain":
        return [*line, "--own", "x"]
    identity = HUB_IDENTITY if row.source not in ("claim", "image") else UID_IDENTITY
    if engine == "vLLM":
        config = {
            "kv_connector": "MooncakeStoreConnector",
            "kv_connector_extra_config": {"cache_prefix": identity, "protocol": "tcp"},
            "kv_role": "kv_both",
        }
        return [*line, "--kv-transfer-config", json.dumps(config, separators=(",", ":")), "--own", "x"]
    extra = json.dumps({"extra_backend_tag": identity, "protocol": "tcp"}, separators=(",", ":"))
    return [
        *line,
        "--enable-hierarchical-cache",
        "--hicache-storage-backend",
        "mooncake",
        "--hicache-storage-backend-extra-config",
        extra,
        "--own",
        "x",
    ]


def _rendered(engine: str, row: Row, kind: str, kv: str) -> dict[str, Any]:
    own: dict[str, Any] = {"command": ["/start"]} if kind == "take-over" else {}
    of = deployment(
        engine,
        role(extraArgs=["--own", "x"], env=[{"name": "OWN", "value": "1"}], **own),
        kv={"protocol": "tcp"} if kv == "kv" else None,
    )
    planned = plan(of, artifact(row.source), cluster(row.mode))
    assert planned.blocked is None
    (template,) = planned.templates
    return template.spec


@pytest.mark.parametrize(("engine", "name", "kind", "kv"), CELLS)
def test_cell(engine: str, name: str, kind: str, kv: str) -> None:
    row = ROWS[name]
    spec = _rendered(engine, row, kind, kv)
    (container,) = spec["containers"]
    managed = kind == "managed"

    volumes, mounts = [], []
    if row.volume is not None:
        volumes.append({"name": "gpustack-model", **row.volume})
        mounts.append({"name": "gpustack-model", "mountPath": "/var/lib/gpustack/model", "readOnly": True})
        if row.subpath:
            mounts[-1]["subPath"] = row.subpath
    if row.caches and managed:
        volumes.append({"name": "gpustack-model-cache", "emptyDir": {"sizeLimit": str(CACHE_SIZE)}})
        mounts.append({"name": "gpustack-model-cache", "mountPath": "/var/lib/gpustack/model-cache"})
    assert spec.get("volumes", []) == volumes
    assert container.get("volumeMounts", []) == mounts

    own = [{"name": "OWN", "value": "1"}]
    wanted = [(key.replace("{ENGINE}", engine.upper()), value) for key, value in row.env] if managed else []
    rendered = [
        {"name": key, "value": value} if isinstance(value, str) else {"name": key, "valueFrom": value}
        for key, value in wanted
    ]
    assert container["env"] == rendered + own

    assert container["command"] == (_command(engine) if managed else ["/start"])
    assert container["args"] == (_line(engine, row, kv) if managed else ["--own", "x"])
    assert ("startupProbe" in container) is managed
    assert "resources" not in container


@pytest.mark.parametrize(("engine", "kind", "kv"), list(product(ENGINES, ("managed", "take-over"), ("plain", "kv"))))
def test_without_an_artifact_the_name_is_the_model_and_nothing_of_weights_is_rendered(
    engine: str, kind: str, kv: str
) -> None:
    own = {"command": ["/start"]} if kind == "take-over" else {}
    of = deployment(engine, role(**own), named=False, kv={} if kv == "kv" else None)
    (template,) = plan(of, None, cluster()).templates
    (container,) = template.spec["containers"]
    assert "volumes" not in template.spec
    assert "env" not in container
    if kind == "managed":
        head = ["qwen-7b"] if engine == "vLLM" else ["--model-path", "qwen-7b"]
        line = [*head, "--host", "0.0.0.0", "--port", "8000", "--served-model-name", "qwen-7b"]
        assert container["args"][: len(line)] == line
        assert "m-" not in "".join(container["args"][len(line) :])
        assert bool(container["args"][len(line) :]) is (kv == "kv")
    else:
        assert "args" not in container


def test_the_cache_is_sized_by_the_manifest() -> None:
    assert CACHE_SIZE == SIZE + (1 << 30)
