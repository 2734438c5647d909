"""Owns how kubelet expands `$(NAME)` in arguments and environment values, before an engine sees a token.

Refuses to guess what only the cluster knows: a reference into a Secret or ConfigMap becomes the mark UNKNOWN.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: Stands for text that only the cluster knows. No argument can hold it: a process argument ends at a NUL.
UNKNOWN = "\0"
#: Linux starts no process with a longer argument (MAX_ARG_STRLEN). Variables that hold each other twice grow beyond it
#: in a few lines.
MAX_ARGUMENT = 128 * 1024

#: Downward-API values that can never begin with a dash: names, addresses, identifiers.
_PLAIN_FIELDS = {
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
}

#: What a variable of the field `status.podIP` expands to here: the one address besides "all" that reaches a Pod.
POD_ADDRESS = "<status.podIP>"
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


@dataclass(frozen=True, slots=True)
class Variable:
    """One entry of a container's `env`: a literal `value`, or the `field` path of the downward API, or neither."""

    name: str
    value: str | None = None
    field: str = ""

    @classmethod
    def of(cls, variable: Mapping[str, Any]) -> Variable:
        """From a core/v1 EnvVar; one with neither `value` nor `valueFrom` is empty, as in Kubernetes."""
        source = variable.get("valueFrom")
        if not isinstance(source, Mapping):
            return cls(variable["name"], variable.get("value") or "")
        path = source["fieldRef"].get("fieldPath") if isinstance(source.get("fieldRef"), Mapping) else None
        return cls(variable["name"], None, path if isinstance(path, str) else "")


def known(variables: Iterable[Variable]) -> dict[str, str]:
    """Each variable's value as kubelet sets it, in order: a literal may refer to those before it."""
    values: dict[str, str] = {}
    for variable in variables:
        if variable.value is not None:
            values[variable.name] = expand(variable.value, values)
        elif variable.field in _PLAIN_FIELDS:
            values[variable.name] = f"<{variable.field}>"
        else:
            values[variable.name] = UNKNOWN
    return values


def expand(text: str, values: Mapping[str, str]) -> str:
    """The text as the container gets it: `$(NAME)` of a known name replaced, `$$` is `$`, an unknown name stays.

    UNKNOWN where that is longer than an argument can be.
    """
    # Behind the last bracket nothing is a reference, and looking for one's end from every "$(" would take long.
    end = text.rfind(")") + 1
    parts: list[str] = []
    size = at = 0
    for match in _REFERENCE.finditer(text, 0, end):
        parts += (text[at : match.start()], "$" if match[0] == "$$" else values.get(match[1], match[0]))
        size += len(parts[-2]) + len(parts[-1])
        at = match.end()
        if size > MAX_ARGUMENT:
            return UNKNOWN
    return "".join((*parts, text[at:end], text[end:].replace("$$", "$")))


def literal(text: str) -> str:
    """The text written so that kubelet hands it on unchanged."""
    return text.replace("$", "$$") if "$(" in text or "$$" in text else text
