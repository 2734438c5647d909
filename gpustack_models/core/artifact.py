"""Owns the ModelArtifact: where weights come from, which credential reads them, and what they resolved to.

Refuses clients and clocks; what a hub answers is written into its status by others.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from gpustack_models.core.manifest import MAX_ENTRIES
from gpustack_models.core.patterns import MAX_PATTERN_LENGTH, MAX_PATTERNS, Patterns
from gpustack_models.core.refs import (
    DEFAULT_REVISION,
    MAX_IMAGE_REFERENCE,
    ClaimRef,
    HubKind,
    HubRef,
    hub_ref,
)
from gpustack_models.core.resource import (
    AGE,
    Column,
    Condition,
    Field,
    Kind,
    Limits,
    LocalReference,
    Record,
    Resource,
)

FINALIZER = "worker.gpustack.ai/model-artifact-protection"
#: The key of a Secret that holds a token.
TOKEN_KEY = "token"  # noqa: S105 - the name of a key
MAX_CLAIM_PATH = 1024

_PATTERN_LIMITS = Limits(max_size=MAX_PATTERNS, rule="artifact-pattern-count")
_ONE_PATTERN = Limits(min_size=1, max_size=MAX_PATTERN_LENGTH, rule="artifact-pattern-length")
_REPOSITORY = Limits(min_size=1, max_size=193)
_REVISION = Limits(min_size=1, max_size=255)


class HuggingFaceSource(Record):
    """A repository on Hugging Face, or on a hub that speaks its interface."""

    repository: Annotated[str, Field("Repository: `owner/name`, or a bare legacy name such as `gpt2`.", _REPOSITORY)]
    revision: Annotated[
        str,
        Field("Branch, tag or commit. Resolved once to a commit; nothing follows the branch afterwards.", _REVISION),
    ] = DEFAULT_REVISION[HubKind.HUGGING_FACE]
    secret_ref: Annotated[
        LocalReference | None,
        Field(
            "Secret in this namespace whose key `token` reads the repository. It need not exist yet: its absence is "
            "the reason `SecretNotFound`."
        ),
    ] = None


class ModelScopeSource(Record):
    """A repository on ModelScope, or on a hub that speaks its interface."""

    repository: Annotated[str, Field("Repository: `owner/name`.", _REPOSITORY)]
    revision: Annotated[
        str,
        Field("Branch, tag or commit. Resolved once to a commit; nothing follows the branch afterwards.", _REVISION),
    ] = DEFAULT_REVISION[HubKind.MODEL_SCOPE]
    secret_ref: Annotated[
        LocalReference | None,
        Field(
            "Secret in this namespace whose key `token` reads the repository. It need not exist yet: its absence is "
            "the reason `SecretNotFound`."
        ),
    ] = None


HubSource = HuggingFaceSource | ModelScopeSource


class ClaimSource(Record):
    """A directory in a PersistentVolumeClaim. The operator never reads its content."""

    claim_name: Annotated[
        str,
        Field(
            "PersistentVolumeClaim in this namespace. It need not exist yet: its absence is the reason "
            "`ClaimNotFound`.",
            Limits(min_size=1, max_size=253),
        ),
    ]
    path: Annotated[
        str,
        Field(
            "Directory inside the volume, relative and without `..`; empty is the root.",
            Limits(max_size=MAX_CLAIM_PATH),
        ),
    ] = ""

    @property
    def ref(self) -> ClaimRef:
        """The claim as a reference (unchecked)."""
        return ClaimRef(self.claim_name, self.path)


class ImageSource(Record):
    """Weights in an image, at its root. kubelet pulls and mounts it; the digest is the whole identity."""

    reference: Annotated[
        str,
        Field(
            "Image by digest: `<registry>/<repository>@sha256:<64 lowercase hex>`. A tag can move and is refused.",
            Limits(min_size=1, max_size=MAX_IMAGE_REFERENCE),
        ),
    ]


class Source(Record):
    """Where the weights come from: exactly one member."""

    hugging_face: Annotated[HuggingFaceSource | None, Field("A Hugging Face repository.")] = None
    model_scope: Annotated[ModelScopeSource | None, Field("A ModelScope repository.")] = None
    persistent_volume_claim: Annotated[ClaimSource | None, Field("A directory in a PersistentVolumeClaim.")] = None
    image: Annotated[ImageSource | None, Field("An image that holds the weights, by digest.")] = None

    @property
    def hub(self) -> HubSource | None:
        """The hub's member, or None for a claim or an image."""
        return self.hugging_face or self.model_scope


class ModelArtifactSpec(Record):
    """What the artifact is. Immutable: other weights, or another revision, are a new artifact."""

    source: Annotated[Source, Field("Where the weights come from: exactly one member.")]
    allow_patterns: Annotated[
        tuple[str, ...],
        Field(
            "Files to keep, as Python's `fnmatch.fnmatchcase`: case-sensitive, `*` and `?` cross `/`, a trailing `/` "
            "means everything under it. Empty keeps every file. Hub sources only; a filtered artifact needs `Node` "
            "delivery.",
            _PATTERN_LIMITS,
            _ONE_PATTERN,
            atomic=True,
        ),
    ] = ()
    ignore_patterns: Annotated[
        tuple[str, ...],
        Field(
            "Files to drop, even when `allowPatterns` keeps them; the same syntax. Hub sources only.",
            _PATTERN_LIMITS,
            _ONE_PATTERN,
            atomic=True,
        ),
    ] = ()
    expected_digest: Annotated[
        str | None,
        Field(
            "The manifest digest that the source must resolve to: `sha256:` and 64 lowercase hex, exactly what "
            "`status.resolved.manifestDigest` carries. Another one is the reason `DigestMismatch`. While the hub "
            "does not answer at all, it becomes the identity (`digestSource: Expected`). Hub sources only.",
            Limits(max_size=71),
        ),
    ] = None

    @property
    def patterns(self) -> Patterns:
        """The two pattern lists. Raises GsmError(InvalidInput) beyond the limits."""
        return Patterns(self.allow_patterns, self.ignore_patterns)

    @property
    def hub_ref(self) -> HubRef | None:
        """The repository and revision, or None for a claim or an image. Raises GsmError(InvalidReference)."""
        hub = self.source.hub
        if hub is None:
            return None
        kind = HubKind.HUGGING_FACE if self.source.hugging_face else HubKind.MODEL_SCOPE
        return hub_ref(kind, hub.repository, hub.revision)


class Resolved(Record):
    """What the source resolved to. Absent before the first answer; empty for a claim or an image."""

    revision: Annotated[str | None, Field("Commit that the revision named: 40 lowercase hex.", Limits(max_size=64))] = (
        None
    )
    manifest_digest: Annotated[
        str | None, Field("Digest of the canonical manifest: the content address.", Limits(max_size=71))
    ] = None
    digest_source: Annotated[
        str | None,
        Field(
            "`Hub`: the digest came from the hub's own listing. `Expected`: it is the spec's anchor, written after the "
            "hub's absence was confirmed.",
            Limits(one_of=("Hub", "Expected")),
        ),
    ] = None
    file_count: Annotated[int | None, Field("Files in the manifest.", Limits(minimum=0, maximum=MAX_ENTRIES))] = None
    size_bytes: Annotated[int | None, Field("Sum of the files' sizes, in bytes.", Limits(minimum=0))] = None
    resolved_time: Annotated[str | None, Field("When the source was resolved.", format="date-time")] = None
    last_validated_time: Annotated[str | None, Field("When access was last confirmed.", format="date-time")] = None


class NodeCounts(Record):
    """Where the content is across nodes. Only numbers: nothing else crosses namespaces. Hub sources only."""

    ready: Annotated[int, Field("Nodes that hold the whole verified copy.", Limits(minimum=0))] = 0
    downloading: Annotated[int, Field("Nodes that are downloading it.", Limits(minimum=0))] = 0
    failed: Annotated[int, Field("Nodes whose last attempt failed.", Limits(minimum=0))] = 0
    downloading_percent: Annotated[
        int | None,
        Field(
            "Mean progress of the downloading nodes, in steps of 5; absent while none downloads.",
            Limits(minimum=0, maximum=100),
        ),
    ] = None


class ModelArtifactStatus(Record):
    """What is known of the artifact. Written by the operator alone."""

    resolved: Annotated[Resolved | None, Field("What the source resolved to.")] = None
    nodes: Annotated[NodeCounts | None, Field("Where the content is across nodes; hub sources only.")] = None
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            "`Resolved`: whether new Pods may use the artifact. `Degraded`: whether the last check of it failed.",
            Limits(max_size=16),
            keys=("type",),
        ),
    ] = ()


class ModelArtifact(Resource):
    """Where model weights come from, which credential reads them, and the verified identity that they resolved to."""

    KIND: ClassVar[Kind] = Kind(
        "worker.gpustack.ai",
        "ModelArtifact",
        "modelartifacts",
        "mart",
        columns=(
            Column("Revision", "string", ".status.resolved.revision"),
            Column("Size", "integer", ".status.resolved.sizeBytes"),
            Column("Resolved", "string", '.status.conditions[?(@.type=="Resolved")].status'),
            Column("Ready nodes", "integer", ".status.nodes.ready"),
            Column("Reason", "string", '.status.conditions[?(@.type=="Resolved")].reason', wide=True),
            Column("Digest", "string", ".status.resolved.manifestDigest", wide=True),
            AGE,
        ),
    )

    spec: Annotated[ModelArtifactSpec, Field("What the artifact is. Immutable.")]
    status: Annotated[ModelArtifactStatus, Field("What is known of it.")] = ModelArtifactStatus()
