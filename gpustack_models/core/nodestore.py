"""Owns the NodeModelStore: a node's store of verified models, as the operator sets it and the node's plugin reports it.

Refuses what names a namespace, an artifact, a Pod or a repository: the resource is cluster-scoped.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

from gpustack_models.core.forms import DIGEST, FINGERPRINT
from gpustack_models.core.resource import (
    AGE,
    Column,
    Condition,
    Field,
    IntOrString,
    Kind,
    Limits,
    Record,
    Resource,
)

DRIVER = "model.csi.gpustack.ai"
MAX_MODELS = 256
MAX_PINNED = 256

_URL = Limits(max_size=2048)


class ModelState(StrEnum):
    """Where a digest stands on a node."""

    DOWNLOADING = "Downloading"
    READY = "Ready"
    FAILED = "Failed"


class Watermarks(Record):
    """Between which fill levels of the filesystem the store collects."""

    high_percent: Annotated[
        int,
        Field(
            "Collection begins above this, and a reservation must fit under it. Above `lowPercent`.",
            Limits(minimum=2, maximum=95, rule="nodestore-watermark-range"),
        ),
    ] = 80
    low_percent: Annotated[
        int, Field("Collection goes down to this.", Limits(minimum=1, maximum=94, rule="nodestore-watermark-range"))
    ] = 70


class Download(Record):
    """How much the node downloads at once."""

    concurrency: Annotated[
        int,
        Field(
            "Requests at once on the node, over all attempts.",
            Limits(minimum=1, maximum=64, rule="nodestore-download-range"),
        ),
    ] = 8
    bytes_per_second: Annotated[
        int,
        Field(
            "Bytes per second, over all attempts; 0 is unlimited.", Limits(minimum=0, rule="nodestore-download-range")
        ),
    ] = 0


class Hub(Record):
    """How the node reaches the hubs."""

    hugging_face_endpoint: Annotated[
        str, Field("Base of Hugging Face: an http(s) URL without credentials, query or fragment.", _URL)
    ] = "https://huggingface.co"
    model_scope_endpoint: Annotated[
        str, Field("Base of ModelScope: an http(s) URL without credentials, query or fragment.", _URL)
    ] = "https://www.modelscope.cn"
    https_proxy: Annotated[str, Field("Proxy for https: an http(s) URL without credentials; blank is none.", _URL)] = ""
    no_proxy: Annotated[str, Field("Comma-separated hosts that no proxy serves.", Limits(max_size=4096))] = ""
    ca_bundle_config_map: Annotated[
        str,
        Field(
            "ConfigMap in the operator's namespace whose key `ca.crt` is trusted beside the system's roots; blank is "
            "none.",
            Limits(max_size=253),
        ),
    ] = ""


class Kubelet(Record):
    """The node's own eviction thresholds, which cap the watermarks where the store shares kubelet's filesystem."""

    nodefs_available: Annotated[
        IntOrString | None, Field("`nodefs.available`: a percentage or a quantity; unset is kubelet's 10 %.")
    ] = None
    imagefs_available: Annotated[
        IntOrString | None, Field("`imagefs.available`: a percentage or a quantity; unset is kubelet's 15 %.")
    ] = None
    image_gc_high_threshold_percent: Annotated[
        int | None,
        Field("`imageGCHighThresholdPercent`; unset is kubelet's 85.", Limits(minimum=0, maximum=100)),
    ] = None


class NodeModelStoreSpec(Record):
    """How the node's store is to work. Written by the operator, but for `pinned`."""

    watermarks: Annotated[Watermarks, Field("Between which fill levels the store collects.")] = Watermarks()
    download: Annotated[Download, Field("How much the node downloads at once.")] = Download()
    hub: Annotated[Hub, Field("How the node reaches the hubs.")] = Hub()
    kubelet: Annotated[Kubelet, Field("The node's own eviction thresholds, read from its `configz`.")] = Kubelet()
    pinned: Annotated[
        tuple[str, ...],
        Field(
            "Manifest digests that are never collected. Written by whoever pins, kept by everyone else.",
            Limits(max_size=MAX_PINNED),
            Limits(max_size=71),
            unique=True,
        ),
    ] = ()


class Capacity(Record):
    """How full the store's filesystem is."""

    total_bytes: Annotated[int, Field("Size of the filesystem.", Limits(minimum=0))] = 0
    stored_bytes: Annotated[int, Field("Bytes of the store itself.", Limits(minimum=0))] = 0
    used_percent: Annotated[
        int, Field("How much of the filesystem is used, rounded down to 5.", Limits(minimum=0, maximum=100))
    ] = 0


class StoredModel(Record):
    """One digest on the node."""

    digest: Annotated[str, Field("Manifest digest.", Limits(max_size=71, pattern=f"^{DIGEST.pattern}$"))]
    state: Annotated[str, Field("Where it stands.", Limits(one_of=tuple(ModelState)))]
    size_bytes: Annotated[int | None, Field("Size of the whole tree.", Limits(minimum=0))] = None
    downloaded_bytes: Annotated[
        int | None,
        Field("Bytes here already, what a resume kept included; only while `Downloading`.", Limits(minimum=0)),
    ] = None
    referenced: Annotated[bool, Field("Whether a Pod has it mounted.")] = False
    last_used_time: Annotated[str | None, Field("When it was last used, to the hour.", format="date-time")] = None
    reason: Annotated[str | None, Field("Why the last attempt failed.", Limits(max_size=256))] = None
    message: Annotated[str | None, Field("The same, for a person.", Limits(max_size=4096))] = None
    retry_time: Annotated[str | None, Field("Before which it is not tried again.", format="date-time")] = None
    source: Annotated[str | None, Field("Where most of its bytes came from.", Limits(one_of=("Hub", "Peer")))] = None


class Peer(Record):
    """Where this node serves its peers."""

    address: Annotated[str, Field("IP address.", Limits(max_size=253))] = ""
    port: Annotated[int, Field("Port.", Limits(minimum=1, maximum=65535))]
    certificate_sha256: Annotated[
        str,
        Field(
            "Fingerprint of its certificate: SHA-256, 64 lowercase hex. No other is trusted.",
            Limits(pattern=f"^{FINGERPRINT.pattern}$"),
        ),
    ]


class NodeModelStoreStatus(Record):
    """What the store holds. Written by that node's plugin alone, from what is on disk and mounted."""

    observed_generation: Annotated[int | None, Field("The generation of the spec that is applied.")] = None
    capacity: Annotated[Capacity | None, Field("How full the filesystem is.")] = None
    model_count: Annotated[
        int | None, Field("Digests on the node, those beyond the listed ones included.", Limits(minimum=0))
    ] = None
    models: Annotated[
        tuple[StoredModel, ...],
        Field("The digests, referenced first, then most recently used.", Limits(max_size=MAX_MODELS), keys=("digest",)),
    ] = ()
    peer: Annotated[Peer | None, Field("Where this node serves its peers.")] = None
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            "`Ready`: whether the store serves. `CapacityLow`: whether nothing is left to remove above the watermark.",
            Limits(max_size=16),
            keys=("type",),
        ),
    ] = ()


class NodeModelStore(Resource):
    """A node's store of verified models: one copy of each digest, shared by every Pod that mounts it."""

    KIND: ClassVar[Kind] = Kind(
        "worker.gpustack.ai",
        "NodeModelStore",
        "nodemodelstores",
        "nms",
        namespaced=False,
        columns=(
            Column("Used", "integer", ".status.capacity.usedPercent"),
            Column("Models", "integer", ".status.modelCount"),
            Column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
            Column("Reason", "string", '.status.conditions[?(@.type=="Ready")].reason', wide=True),
            AGE,
        ),
    )

    spec: Annotated[NodeModelStoreSpec, Field("How the store is to work.")] = NodeModelStoreSpec()
    status: Annotated[NodeModelStoreStatus, Field("What it holds.")] = NodeModelStoreStatus()
