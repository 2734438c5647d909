"""Owns SGLang's table: its line, what its parser takes, the options and variables that the operator owns.

Refuses knowledge of the other engine.
"""

from __future__ import annotations

from gpustack_models.core.engines import kv
from gpustack_models.core.engines.environment import VARIABLES
from gpustack_models.core.engines.flags import Syntax
from gpustack_models.core.engines.model import ARTIFACT, HEALTH, KV_CACHE, Engine, KvCache, OwnedFlag

_ELSEWHERE = "it can load other weights than the artifact's files"


def _addition(option: str, why: str = _ELSEWHERE, *, values: frozenset[str] = frozenset()) -> OwnedFlag:
    return OwnedFlag("sglang" + option[1:].rstrip("-"), (option,), ARTIFACT, why, by_specification=False, values=values)


FLAGS = (
    OwnedFlag("sglang-model-path", ("--model-path", "--model"), ARTIFACT, "the model is the artifact's content"),
    OwnedFlag(
        "sglang-revision", ("--revision",), ARTIFACT, "the artifact's commit pins weights and tokenizer together"
    ),
    OwnedFlag("sglang-download-dir", ("--download-dir",), ARTIFACT, "the download lies on the volume sized for it"),
    _addition("--config", "a file can set every owned flag, and admission cannot read it; write its keys as arguments"),
    _addition(
        "--load-format",
        "this format loads other weights than the artifact's files",
        values=frozenset({"dummy", "remote", "remote_instance", "private", "presharded"}),
    ),
    _addition("--model-loader-extra-config"),
    _addition("--custom-weight-loader"),
    _addition("--modelopt-checkpoint-restore-path"),
    _addition("--modelexpress-config"),
    _addition("--weight-cache-mode"),
    _addition("--kt-weight-path"),
    _addition(
        "--checkpoint-engine-wait-weights-before-ready",
        "it serves weights that another process sends, not the artifact's",
    ),
    _addition("--remote-instance-weight-loader-"),
    _addition("--delete-ckpt-after-loading", "it deletes the model folder"),
    OwnedFlag(
        "sglang-enable-hierarchical-cache",
        ("--enable-hierarchical-cache", "--enable-hicache"),
        KV_CACHE,
        "the operator turns the cache on with the store that kvCache names",
    ),
    OwnedFlag(
        "sglang-hicache-storage-backend",
        ("--hicache-storage-backend",),
        KV_CACHE,
        "it chooses another store than kvCache names",
    ),
    OwnedFlag(
        "sglang-hicache-storage-backend-extra-config",
        ("--hicache-storage-backend-extra-config",),
        KV_CACHE,
        "a later one replaces the keys that carry the weights' identity",
    ),
)


def kv_arguments(cache: KvCache) -> tuple[str, ...]:
    """The hierarchical cache on its Mooncake store, its keys tagged with the weights' identity."""
    tag = {"extra_backend_tag": cache.identity} if cache.identity else {}
    return (
        "--enable-hierarchical-cache",
        "--hicache-storage-backend",
        "mooncake",
        "--hicache-storage-backend-extra-config",
        kv.encoded(kv.merged(cache.config, tag)),
    )


SGLANG = Engine(
    name="SGLang",
    id="sglang",
    command=("python3", "-m", "sglang.launch_server"),
    model_option=("--model-path",),
    syntax=Syntax(own=frozenset({"--model", "--hicache-storage-backend"})),
    flags=FLAGS,
    variables=VARIABLES,
    modelscope_switch="SGLANG_USE_MODELSCOPE",
    probes=HEALTH,
    kv_arguments=kv_arguments,
    forbidden_in_name={":": "SGLang stops at the start when the served name holds one"},
)
