"""Owns the rows that hold for every resource: how a text is read, and what a schema alone refuses.

Refuses nothing itself: `core.documents`, `core.screening` and `core.structure` name these rows.
"""

from __future__ import annotations

from gpustack_models.core.rules.model import Row, Where

ANY = "every resource"
_READING = "this project"
_API = "Kubernetes API"


def _reading(identifier: str, looks_at: str, says: str) -> Row:
    return Row(identifier, ANY, looks_at, says, Where.READING, _READING)


def _schema(identifier: str, looks_at: str, says: str) -> Row:
    return Row(identifier, ANY, looks_at, says, Where.SCHEMA, _API)


ROWS: tuple[Row, ...] = (
    _reading("document-encoding", "the text", "A file is UTF-8 text without control characters."),
    _reading("document-yaml", "the text", "A file is YAML (or JSON), as kubectl reads it."),
    _reading("document-duplicate-key", "the text", "No key stands twice in one map: one of the two would be lost."),
    _reading("document-alias", "the text", "An alias refers to a whole value above it, and is not a key."),
    _reading("document-too-deep", "the text", "Nesting is at most 64 levels deep."),
    _reading("document-too-large", "the text", "A file has at most 32 MiB, a document at most 200,000 values."),
    _reading("document-not-a-map", "the document", "A document is a map with `apiVersion` and `kind`."),
    _reading("document-kind", "kind", "The kind is one of the five resources, or one of Kubernetes' own."),
    _reading("document-api-version", "apiVersion", "The API version is the one that serves the kind."),
    _reading("document-duplicate-object", "metadata", "No object is given twice."),
    _schema(
        "object-name", "metadata.name", "An object has a name, which is a DNS subdomain of at most 253 characters."
    ),
    _schema("schema-type", "every field", "A field is of its type."),
    _schema("schema-required", "every field", "A required field is written."),
    _schema("schema-unknown-field", "every field", "No field is unknown: a misspelt one would be dropped silently."),
    _schema("schema-enum", "every field", "A field of an enumeration has one of its values."),
    _schema("schema-range", "every field", "A number is within its range."),
    _schema("schema-size", "every field", "A text, list or map is within its size."),
    _schema("schema-pattern", "every field", "A text has its field's pattern."),
    _schema("schema-duplicate", "every list", "No item of a keyed list or a set stands twice."),
    _schema(
        "quantity-form", "resources", "A quantity is a number with a unit of Kubernetes, such as `500m` or `16Gi`."
    ),
)
