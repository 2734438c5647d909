"""Owns the faults a test switches on: which requests each one meets, how often, and what it does to them.

Refuses the wire; what happens below HTTP is said as `Effects`, and `sending.py` does it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from gpustack_models.errors import GsmError, Reason
from gpustack_models.hub_server.fault_edits import EDITS
from gpustack_models.hub_server.wire import Answer, Ask, Origin


@dataclass(frozen=True, slots=True)
class Effects:
    """What happens to an answer on its way: below HTTP, so no client can tell it from a broken network.

    Positions count the bytes of this body; `flips` are offsets in the file. `reset_at` -1 is before the headers.
    """

    wait: float = 0
    silent: bool = False
    stall_at: int | None = None
    stall: float = 0
    reset_at: int | None = None
    cut_at: int | None = None
    flips: frozenset[int] = frozenset()
    rate: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. Which requests: `path` (a pattern over the decoded path with its query), `method`, `origin`; the
    first `after` of them pass, the next `times` (None: all) are met. The other fields are the kind's own.
    """

    kind: str
    path: str = "*"
    method: str = "*"
    origin: Origin | None = None
    after: int = 0
    times: int | None = None
    status: int = 503
    retry_after: str = ""
    seconds: float = 3600
    at: int = 0
    value: str = ""
    edit: Callable[[Any], Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise GsmError(
                Reason.INVALID_INPUT, f"there is no fault {self.kind!r}", hint=f"one of {', '.join(sorted(KINDS))}"
            )

    def meets(self, ask: Ask) -> bool:
        """Whether a request is one of this fault's, its turn aside."""
        whole = ask.path + "".join(f"&{name}={value}" for name, value in ask.query.items()).replace("&", "?", 1)
        return (
            (self.origin is None or self.origin is ask.origin)
            and fnmatchcase(ask.method, self.method)
            and (fnmatchcase(ask.path, self.path) or fnmatchcase(whole, self.path))
        )


#: What each kind does below HTTP.
EFFECTS: Mapping[str, Callable[[Effects, Fault], Effects]] = {
    "silence": lambda effects, _fault: replace(effects, silent=True),
    "stall": lambda effects, fault: replace(effects, wait=effects.wait + fault.seconds),
    "stall_body": lambda effects, fault: replace(effects, stall_at=fault.at, stall=fault.seconds),
    "reset": lambda effects, fault: replace(effects, reset_at=fault.at),
    "truncated": lambda effects, fault: replace(effects, cut_at=fault.at),
    "flipped": lambda effects, fault: replace(effects, flips=effects.flips | {fault.at}),
    "slow": lambda effects, fault: replace(effects, rate=fault.at),
}
IGNORED_RANGE = "ignored_range"
KINDS = frozenset({*EFFECTS, *EDITS, IGNORED_RANGE})


@dataclass(frozen=True, slots=True)
class Met:
    """The faults that one request met, in the order they were switched on."""

    faults: tuple[Fault, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Their kinds."""
        return tuple(fault.kind for fault in self.faults)

    def ask(self, ask: Ask) -> Ask:
        """The request as the hub is made to see it."""
        if IGNORED_RANGE not in self.kinds:
            return ask
        return replace(ask, headers={name: value for name, value in ask.headers.items() if name != "range"})

    def answer(self, answer: Answer, ask: Ask) -> Answer:
        """The answer as the client is made to see it."""
        for fault in self.faults:
            if fault.kind in EDITS:
                answer = EDITS[fault.kind](answer, fault, ask)
        return answer

    @property
    def effects(self) -> Effects:
        """What happens to the answer on its way."""
        effects = Effects()
        for fault in self.faults:
            if fault.kind in EFFECTS:
                effects = EFFECTS[fault.kind](effects, fault)
        return effects


class Faults:
    """The faults that are switched on, with their counts. Thread-safe."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._lock = threading.Lock()
        self._counts: list[tuple[Fault, list[int]]] = []
        for fault in faults:
            self.add(fault)

    def add(self, fault: Fault) -> None:
        """Switch a fault on."""
        with self._lock:
            self._counts.append((fault, [0]))

    def remove(self, fault: Fault) -> None:
        """Switch a fault off; nothing happens when it is off."""
        with self._lock:
            self._counts = [(one, count) for one, count in self._counts if one is not fault]

    def clear(self) -> None:
        """Switch every fault off."""
        with self._lock:
            self._counts.clear()

    def meet(self, ask: Ask) -> Met:
        """The faults that a request meets; each one's count goes up."""
        met = []
        with self._lock:
            for fault, count in self._counts:
                if not fault.meets(ask):
                    continue
                count[0] += 1
                turn = count[0] - fault.after
                if turn > 0 and (fault.times is None or turn <= fault.times):
                    met.append(fault)
        return Met(tuple(met))


def fault_of(value: Mapping[str, Any]) -> Fault:
    """A fault from plain values, as a faults file has them. Raises GsmError(InvalidInput)."""
    known = {item.name for item in fields(Fault)} - {"edit"}
    if unknown := set(value) - known:
        raise GsmError(
            Reason.INVALID_INPUT, f"a fault has no field {min(unknown)!r}", hint=f"one of {', '.join(sorted(known))}"
        )
    try:
        origin = Origin(value["origin"]) if "origin" in value else None
        return Fault(**{**value, "origin": origin})
    except (TypeError, ValueError) as error:
        raise GsmError(Reason.INVALID_INPUT, f"a fault is not understood: {error}") from None
