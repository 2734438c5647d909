"""Owns how a person states a claim in one word: `models=Bound,ReadWriteMany`, and what each part means.

Refuses a part that it does not know, by naming those it does.
"""

from __future__ import annotations

from gpustack_models.core.coreobjects import BindingMode, ClaimPhase
from gpustack_models.core.facts import HOSTNAME_LABEL, NO_PROVISIONER, Claim
from gpustack_models.core.resource import JsonObject
from gpustack_models.errors import GsmError, Reason

MISSING = "Missing"
ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_SHORT = dict(zip(("RWO", "ROX", "RWX", "RWOP"), ACCESS_MODES, strict=True))
_PROVISIONER = "no-provisioner"
_NODE = "node="
WORDS = (*ClaimPhase, MISSING, *BindingMode, _PROVISIONER, *ACCESS_MODES, f"{_NODE}HOSTNAME")


def parse(text: str) -> tuple[str, Claim | None]:
    """A claim's name, and the claim; None when it is said to be missing.

    Parts are separated by commas: a phase, a binding mode, access modes (long or short), `no-provisioner`, and
    `node=HOSTNAME` for a volume that lies on one node. Raises GsmError(InvalidInput).
    """
    name, equals, rest = text.partition("=")
    parts = [part for part in rest.split(",") if part]
    if not name or not equals or not parts:
        raise GsmError(Reason.INVALID_INPUT, f"{text!r} states no claim", hint="write NAME=Bound,ReadWriteMany")
    for part in parts:
        if part not in WORDS and part not in _SHORT and (not part.startswith(_NODE) or part == _NODE):
            raise GsmError(
                Reason.INVALID_INPUT, f"{text!r}: {part!r} says nothing of a claim", hint=f"use {', '.join(WORDS)}"
            )
    return name, None if MISSING in parts else _claim(name, parts)


def _claim(name: str, parts: list[str]) -> Claim:
    modes = tuple(_SHORT.get(part, part) for part in parts if part in ACCESS_MODES or part in _SHORT)
    binding = next((BindingMode(part) for part in parts if part in tuple(BindingMode)), None)
    phase = next((ClaimPhase(part) for part in parts if part in tuple(ClaimPhase)), None)
    hosts = [part.removeprefix(_NODE) for part in parts if part.startswith(_NODE)]
    if phase is None:
        # A binding mode or a missing provisioner is of interest only while the claim is not bound.
        phase = ClaimPhase.PENDING if binding or _PROVISIONER in parts else ClaimPhase.BOUND
    return Claim(
        name=name,
        phase=phase,
        access_modes=modes or ("ReadWriteMany",),
        storage_class="stated" if binding or _PROVISIONER in parts else "",
        binding_mode=binding or (BindingMode.WAIT if _PROVISIONER in parts else None),
        provisioner=NO_PROVISIONER if _PROVISIONER in parts else "stated",
        node_terms=_on(hosts) if hosts else None,
    )


def _on(hosts: list[str]) -> tuple[JsonObject, ...]:
    return ({"matchExpressions": [{"key": HOSTNAME_LABEL, "operator": "In", "values": hosts}]},)
