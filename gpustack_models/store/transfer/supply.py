"""Owns the sources of one attempt: which of them a file is asked from next, what each gave, why each was given up.

Refuses requests; it is told how they ended.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpustack_models.core.location import Location, origin_of
from gpustack_models.core.manifest import FileDigest
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.sources import Origin, Source, SourceFailure, Want
from gpustack_models.store.transfer.answers import ThrottledError
from gpustack_models.store.transfer.gate import Gate, Host
from gpustack_models.store.transfer.patience import Budget, Retry, verdict

#: A source that served is refused so many times in a row before it is believed.
_REFUSALS = 3


@dataclass(eq=False)
class Todo:
    """One want of an attempt, with what was learned about it so far."""

    want: Want
    #: Sources that do not serve this file.
    refused: set[int] = field(default_factory=set)
    #: The most bytes ever told as verified: what is told never goes back.
    told: int = 0


class Supplier:
    """One source in one attempt."""

    def __init__(self, index: int, source: Source, retry: Retry) -> None:
        self.index = index
        self.origin = source.origin
        self.budget = Budget(retry)
        self.name = str(source.origin)
        self._source = source
        self._served = False
        self._refusals = 0
        self._endpoint = ""
        self._host: Host | None = None

    def locate(self, path: str) -> Location:
        """Where a file's bytes are; from then on the source has the name of its endpoint."""
        location = self._source.locate(path)
        if location.endpoint != self._endpoint:
            scheme, host, port = self._host = origin_of(location.endpoint)
            self._endpoint, self.name = location.endpoint, f"{scheme}://{host}:{port}"
        return location

    def served(self) -> None:
        """It answered a request to its end."""
        self._served = True
        self._refusals = 0
        self.budget.answered()

    def may_be_spurious(self) -> bool:
        """Whether a refusal is worth another try: hubs were seen to refuse once in the midst of what they serve."""
        self._refusals += 1
        return self._served and self._refusals < _REFUSALS

    def wait(self, gate: Gate, now: float) -> float:
        """Seconds before it may be asked."""
        held = gate.held(self._host) if self._host else 0.0
        return max(self.budget.until - now, held)


class Supply:
    """The sources of one attempt, in order. From any thread."""

    def __init__(self, sources: Sequence[Source], retry: Retry, gate: Gate, chance: Callable[[], float]) -> None:
        self.suppliers = [Supplier(index, source, retry) for index, source in enumerate(sources)]
        self._gate = gate
        self._chance = chance
        self._lock = threading.Lock()
        self._received: Counter[Origin] = Counter()

    def choose(self, todo: Todo) -> Supplier:
        """The first source that may still be asked for a file. Raises the GsmError of a file that none is left for."""
        for supplier in self.suppliers:
            if supplier.budget.spent is None and supplier.index not in todo.refused:
                return supplier
        failures = [(one.name, one.origin, one.budget.last_error) for one in self.suppliers if one.budget.last_error]
        raise verdict(todo.want.path, failures)

    def wait(self, supplier: Supplier, now: float) -> float:
        """Seconds before a source may be asked."""
        return supplier.wait(self._gate, now)

    def received(self, supplier: Supplier, count: int) -> None:
        """Bytes of a source arrived."""
        with self._lock:
            self._received[supplier.origin] += count
            supplier.budget.received(count)

    def answered(self, supplier: Supplier) -> None:
        """An answer of a source was read to its end."""
        with self._lock:
            supplier.served()

    def failed(self, supplier: Supplier, todo: Todo, error: GsmError, began: float, now: float) -> None:
        """A request that began at `began` (monotonic) ended with an error. Raises it when no other source may help."""
        with self._lock:
            if error.reason is Reason.SOURCE_UNAVAILABLE:
                counted = supplier.budget.fail(error, began, now, self._chance())
                throttled = counted and isinstance(error, ThrottledError)
            elif supplier.origin is Origin.PEER and error.reason is Reason.ACCESS_DENIED:
                # A peer that holds a part of the tree does not have this file; it may have the next.
                todo.refused.add(supplier.index)
                supplier.budget.last_error = error
                throttled = False
            elif error.reason is Reason.ACCESS_DENIED and supplier.may_be_spurious():
                supplier.budget.fail(error, began, now, self._chance())
                throttled = False
            elif supplier.origin is Origin.PEER or error.reason is Reason.ACCESS_DENIED:
                supplier.budget.give_up(error)
                throttled = False
            else:
                raise GsmError(error.reason, f"{todo.want.path}: {supplier.name}: {error.message}", hint=error.hint)
        if throttled:
            self._gate.throttled()

    def distrust(self, contributors: set[int], digest: FileDigest) -> None:
        """The bytes that these sources gave together do not hash to a digest: the peers among them are given up."""
        with self._lock:
            for supplier in self.suppliers:
                if supplier.index in contributors and supplier.origin is Origin.PEER:
                    message = f"the bytes it gave do not have the digest {digest}"
                    supplier.budget.give_up(GsmError(Reason.INTEGRITY_MISMATCH, message))

    def origins(self, contributors: set[int]) -> set[Origin]:
        """What kinds of sources these are."""
        return {supplier.origin for supplier in self.suppliers if supplier.index in contributors}

    def report(self) -> tuple[dict[Origin, int], tuple[SourceFailure, ...]]:
        """Bytes received by origin, and the sources given up."""
        with self._lock:
            given_up = [(one, one.budget.spent) for one in self.suppliers]
            failures = tuple(SourceFailure(one.index, one.origin, error) for one, error in given_up if error)
            return dict(self._received), failures
