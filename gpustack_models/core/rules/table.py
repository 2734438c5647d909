"""Owns the one table of rules: it serves the CRDs, the webhook, `gsm validate` and `gsm render` alike.

Refuses two rows with one id.
"""

from __future__ import annotations

from gpustack_models.core.resource import Resource
from gpustack_models.core.rules import artifact, deployment, engines, general, instance, nodestore, setting, writers
from gpustack_models.core.rules.model import Row

#: Every rule, by resource, in the order of the reference.
ROWS: tuple[Row, ...] = (
    *general.ROWS,
    *artifact.ROWS,
    *deployment.ROWS,
    *engines.ROWS,
    *instance.ROWS,
    *nodestore.ROWS,
    *setting.ROWS,
    *writers.ROWS,
)
BY_ID: dict[str, Row] = {row.id: row for row in ROWS}


def judged(resource: type[Resource]) -> tuple[Row, ...]:
    """The rows that are judged on a resource, beside what its schema refuses."""
    return _JUDGED[resource.KIND.kind]


_JUDGED: dict[str, tuple[Row, ...]] = {
    kind: tuple(row for row in (*ROWS, engines.CHECK) if row.kind == kind and (row.cel or row.check))
    for kind in {row.kind for row in ROWS}
}
