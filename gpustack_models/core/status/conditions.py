"""Owns how a condition is made, and how new ones are put over the old: a transition has a time, a repetition has none.

Refuses to judge what a condition says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpustack_models.core.reasons import ConditionType
from gpustack_models.core.resource import Condition, condition

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
#: Kubernetes takes no longer message.
MAX_MESSAGE = 32768


@dataclass(frozen=True, slots=True)
class Finding:
    """One condition as it is judged now, without the generation (the object's) and the time (the clock's)."""

    type: ConditionType
    status: str
    reason: str
    message: str = ""

    @property
    def holds(self) -> bool:
        """Whether its status is True."""
        return self.status == TRUE


def written(
    old: tuple[Condition, ...], findings: Iterable[Finding], *, generation: int, now: str
) -> tuple[Condition, ...]:
    """The conditions to store: those of `findings` replaced, the others kept; sorted by type.

    `now` is RFC 3339 in UTC. The transition time moves only when the status does.
    """
    kept = {each.type: each for each in old}
    for finding in findings:
        before = condition(old, finding.type)
        unmoved = before is not None and before.status == finding.status and before.last_transition_time
        kept[finding.type] = Condition(
            type=finding.type,
            status=finding.status,
            reason=finding.reason,
            message=finding.message[:MAX_MESSAGE],
            observed_generation=generation,
            last_transition_time=before.last_transition_time if before is not None and unmoved else now,
        )
    return tuple(kept[name] for name in sorted(kept))


def found(conditions: tuple[Condition, ...], kind: ConditionType) -> Finding | None:
    """A stored condition as a finding, or None."""
    stored = condition(conditions, kind)
    return None if stored is None else Finding(kind, stored.status, stored.reason, stored.message)
