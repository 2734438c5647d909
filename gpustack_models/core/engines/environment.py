"""Owns the environment variables that no role may set while an artifact is referenced, whichever the engine.

Refuses variables of one engine alone; those are in its table.
"""

from __future__ import annotations

from gpustack_models.core.engines.model import OwnedVariable

_CACHE = "it moves the hub cache off the volume that is sized for the manifest"
_SWITCH = "it chooses the hub, which is the artifact's source"
_OTHER_TOKEN = "it is read as a token, which is the artifact's secretRef"  # noqa: S105 - a reason
_OFFLINE = "it turns the hub off, so that the pinned commit cannot be fetched"

VARIABLES = (
    OwnedVariable("HF_TOKEN", "it is the artifact's secretRef"),
    OwnedVariable("HF_ENDPOINT", "it is the model-artifact-huggingface-endpoint Setting"),
    OwnedVariable("HF_HOME", _CACHE),
    OwnedVariable("MODELSCOPE_API_TOKEN", "it is the artifact's secretRef"),
    OwnedVariable("MODELSCOPE_DOMAIN", "it is the model-artifact-modelscope-endpoint Setting"),
    OwnedVariable("MODELSCOPE_CACHE", _CACHE),
    OwnedVariable("VLLM_USE_MODELSCOPE", _SWITCH),
    OwnedVariable("SGLANG_USE_MODELSCOPE", _SWITCH),
    OwnedVariable("HF_HUB_CACHE", _CACHE, by_specification=False),
    OwnedVariable("HUGGINGFACE_HUB_CACHE", _CACHE, by_specification=False),
    OwnedVariable("HUGGING_FACE_HUB_TOKEN", _OTHER_TOKEN, by_specification=False),
    OwnedVariable(
        "HF_HUB_DISABLE_IMPLICIT_TOKEN",
        "it keeps the artifact's token from being sent to its hub",
        by_specification=False,
    ),
    OwnedVariable("HF_HUB_OFFLINE", _OFFLINE, by_specification=False),
    OwnedVariable("TRANSFORMERS_OFFLINE", _OFFLINE, by_specification=False),
    OwnedVariable(
        "MODELSCOPE_ENDPOINT",
        "it overrides the model-artifact-modelscope-endpoint Setting",
        by_specification=False,
    ),
    OwnedVariable("MODELSCOPE_HOME", _CACHE, by_specification=False),
    OwnedVariable("MODELSCOPE_CREDENTIALS_PATH", _OTHER_TOKEN, by_specification=False),
    OwnedVariable(
        "MODELSCOPE_PREFER_AI_SITE",
        "it overrides the model-artifact-modelscope-endpoint Setting",
        by_specification=False,
    ),
)
