"""Owns vLLM's table: its line, what its parser takes, the options and variables that the operator owns.

Refuses knowledge of the other engine.
"""

from __future__ import annotations

from gpustack_models.core.deployment import Manufacturer, RoleKind
from gpustack_models.core.engines import kv
from gpustack_models.core.engines.environment import VARIABLES
from gpustack_models.core.engines.flags import Syntax
from gpustack_models.core.engines.model import (
    ARTIFACT,
    HEALTH,
    KV_CACHE,
    Engine,
    KvCache,
    OwnedFlag,
    OwnedVariable,
)

FLAGS = (
    OwnedFlag("vllm-model", ("--model",), ARTIFACT, "the model is the artifact's content"),
    OwnedFlag("vllm-revision", ("--revision",), ARTIFACT, "the artifact's commit pins weights and tokenizer together"),
    OwnedFlag(
        "vllm-tokenizer-revision",
        ("--tokenizer-revision",),
        ARTIFACT,
        "the artifact's commit pins weights and tokenizer together",
    ),
    OwnedFlag("vllm-download-dir", ("--download-dir",), ARTIFACT, "the download lies on the volume sized for it"),
    OwnedFlag(
        "vllm-config",
        ("--config",),
        ARTIFACT,
        "a file can set every owned flag, and admission cannot read it; write its keys as arguments",
        by_specification=False,
    ),
    OwnedFlag(
        "vllm-code-revision",
        ("--code-revision",),
        ARTIFACT,
        "the model's code would come from another commit",
        by_specification=False,
    ),
    OwnedFlag(
        "vllm-hf-token",
        ("--hf-token",),
        ARTIFACT,
        "the token is the artifact's secretRef, and one on a command line is in the Pod's spec",
        by_specification=False,
    ),
    OwnedFlag(
        "vllm-load-format",
        ("--load-format",),
        ARTIFACT,
        "this format loads other weights than the artifact's files",
        by_specification=False,
        values=frozenset({"dummy", "tensorizer", "sharded_state", "modelexpress"}),
    ),
    OwnedFlag(
        "vllm-model-loader-extra-config",
        ("--model-loader-extra-config",),
        ARTIFACT,
        "it can point the loader at other weights",
        by_specification=False,
    ),
    OwnedFlag(
        "vllm-kv-transfer-config",
        ("--kv-transfer-config",),
        KV_CACHE,
        "it replaces the connector whose keys carry the weights' identity",
    ),
)


def kv_arguments(cache: KvCache) -> tuple[str, ...]:
    """`--kv-transfer-config` of the store connector; on Ascend another connector, without a prefix."""
    ascend = cache.manufacturer is Manufacturer.ASCEND
    prefix = {"cache_prefix": cache.identity} if cache.identity and not ascend else {}
    return (
        "--kv-transfer-config",
        kv.encoded(
            {
                "kv_connector": "AscendStoreConnector" if ascend else "MooncakeStoreConnector",
                "kv_role": _KV_ROLE[cache.kind],
                "kv_connector_extra_config": kv.merged(cache.config, prefix),
            }
        ),
    )


_KV_ROLE = {RoleKind.SERVER: "kv_both", RoleKind.PREFILL: "kv_producer", RoleKind.DECODE: "kv_consumer"}

VLLM = Engine(
    name="vLLM",
    id="vllm",
    command=("vllm", "serve"),
    model_option=(),
    syntax=Syntax(underscores=True, dotted=True, joined="-O", own=frozenset({"--tokenizer"})),
    flags=FLAGS,
    variables=(
        *VARIABLES,
        OwnedVariable(
            "VLLM_MODEL_REDIRECT_PATH", "it replaces the model by another one of a file", by_specification=False
        ),
    ),
    modelscope_switch="VLLM_USE_MODELSCOPE",
    probes=HEALTH,
    kv_arguments=kv_arguments,
    many_names=True,
)
