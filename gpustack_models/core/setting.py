"""Owns the Setting and the fixed catalogue of settings: default, rule in words, environment variable.

Refuses names outside the catalogue. Values are judged in `core.values`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from gpustack_models.core.resource import AGE, Column, Field, Kind, Limits, Record, Resource

MAX_VALUE = 4096


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting: its name, its default, what it is, and its rule in words (workloads.md, "Setting")."""

    name: str
    default: str
    doc: str
    rule: str

    @property
    def variable(self) -> str:
        """The environment variable that seeds it once."""
        return "GPUSTACK_" + self.name.upper().replace("-", "_")


_URL = "an http(s) URL without credentials, query or fragment"

CATALOGUE: tuple[Entry, ...] = (
    Entry(
        "model-artifact-huggingface-endpoint",
        "https://huggingface.co",
        "Base URL of Hugging Face. A change rolls every Engine-delivered deployment and re-resolves nothing.",
        _URL,
    ),
    Entry(
        "model-artifact-modelscope-endpoint",
        "https://www.modelscope.cn",
        "Base URL of ModelScope. Engine delivery of a ModelScope artifact needs an https one.",
        _URL,
    ),
    Entry(
        "model-artifact-https-proxy",
        "",
        "Proxy for https URLs; blank is none. Rendered into engine Pods, hence without credentials.",
        "blank, or an http(s) URL without credentials",
    ),
    Entry("model-artifact-no-proxy", "", "Hosts that are reached without the proxy.", "comma-separated hosts"),
    Entry(
        "model-artifact-ca-bundle",
        "",
        "ConfigMap in the operator's namespace whose key `ca.crt` is trusted beside the system's roots; blank is none. "
        "Not given to engine Pods.",
        "blank, or the name of a ConfigMap",
    ),
    Entry(
        "model-artifact-revalidate-interval",
        "24h",
        "How often access to a resolved artifact is checked again.",
        "a duration such as 90m or 24h, at least 1m",
    ),
    Entry(
        "model-artifact-delivery-mode",
        "Engine",
        "How a hub artifact reaches a deployment's Pods: the engine downloads it, or the node plugin mounts it.",
        "Engine or Node; Node only while the CSIDriver model.csi.gpustack.ai exists",
    ),
    Entry(
        "model-store-high-watermark",
        "80",
        "Fill level, in percent, above which a node's store collects.",
        "an integer above model-store-low-watermark, at most 95",
    ),
    Entry(
        "model-store-low-watermark",
        "70",
        "Fill level, in percent, down to which a node's store collects.",
        "an integer from 1, below model-store-high-watermark",
    ),
    Entry(
        "model-store-download-concurrency",
        "8",
        "Requests at once on a node, over all its downloads.",
        "an integer from 1 to 64",
    ),
    Entry(
        "model-store-download-bandwidth",
        "0",
        "Bytes per second on a node, over all its downloads; 0 is unlimited.",
        "a quantity of bytes per second such as 200Mi",
    ),
    Entry(
        "model-store-peer-sync",
        "true",
        "Whether nodes fetch models from each other before the hub.",
        "true or false",
    ),
)

BY_NAME: dict[str, Entry] = {entry.name: entry for entry in CATALOGUE}


class SettingSpec(Record):
    """The setting's value."""

    value: Annotated[str, Field("The value, as text. Its rule depends on the setting.", Limits(max_size=MAX_VALUE))]


class Setting(Resource):
    """One value of a fixed catalogue, in the operator's namespace. Created and deleted by the operator alone."""

    KIND: ClassVar[Kind] = Kind(
        "gpustack.ai",
        "Setting",
        "settings",
        "set",
        has_status=False,
        columns=(Column("Value", "string", ".spec.value"), AGE),
    )

    spec: Annotated[SettingSpec, Field("The setting's value.")]


@dataclass(frozen=True, slots=True)
class Settings:
    """The values in force, by name; what is not set has its default."""

    values: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, BY_NAME[name].default)


DEFAULTS = Settings({})
