"""Owns which resource a document is: its kind and API version, or the refusal that names the nearest known one.

Refuses kinds that nobody serves; those of Kubernetes and of other projects pass unjudged.
"""

from __future__ import annotations

import difflib
from typing import Any

from gpustack_models.core.kinds import BY_KIND
from gpustack_models.core.resource import Resource
from gpustack_models.core.rules.model import Violation
from gpustack_models.core.structure import nearest

#: The kinds of Kubernetes' core group, and its groups without a dot.
_CORE = frozenset(
    (
        *("Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "LimitRange", "List", "Namespace", "Node"),
        *("PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ReplicationController"),
        *("ResourceQuota", "Secret", "Service", "ServiceAccount"),
    )
)
_GROUPS = frozenset(("apps", "autoscaling", "batch", "extensions", "policy"))
_OURS = frozenset(resource.KIND.group for resource in BY_KIND.values())


def screen(value: Any) -> tuple[type[Resource] | None, Violation | None]:
    """The resource that a document is, or why it is none; neither for a kind that is not ours to judge."""
    if not isinstance(value, dict):
        return None, _refused("document-not-a-map", (), f"a document is a map, but {_noun(value)} stands here")
    for member in ("apiVersion", "kind"):
        if not isinstance(value.get(member), str) or not value[member]:
            problem = "is missing" if value.get(member) is None else "must be a text"
            path = (member,) if member in value else ()
            return None, _refused("document-not-a-map", path, f"{member} {problem}", _kinds())
    if value["kind"] == "List":
        # The items of every other one were taken out (core.documents).
        return None, _refused("document-not-a-map", ("items",), "a List has a list of items, and is none of another's")
    return _known(value["apiVersion"], value["kind"])


def _known(api_version: str, kind: str) -> tuple[type[Resource] | None, Violation | None]:
    resource = BY_KIND.get(kind)
    if resource is not None and api_version == resource.KIND.api_version:
        return resource, None
    group = api_version.rpartition("/")[0]
    if resource is not None and not _of_another(group, api_version):
        return None, _refused(
            "document-api-version",
            ("apiVersion",),
            f"{kind} is not served as {api_version!r:.100}",
            f"write {resource.KIND.api_version}",
        )
    if group in _OURS:
        return None, _no_kind(api_version, kind, nearest(kind, list(BY_KIND)) or _kinds())
    if (api_version == "v1" and kind in _CORE) or group in _GROUPS or ("." in group and not _near(group)):
        return None, None
    if _near(group) or (group == "" and api_version != "v1"):
        hint = nearest(api_version, [each.KIND.api_version for each in BY_KIND.values()])
        return None, _refused(
            "document-api-version", ("apiVersion",), f"{api_version!r:.100} is not a known API version", hint
        )
    return None, _no_kind(api_version, kind, nearest(kind, [*BY_KIND, *_CORE]))


def _no_kind(api_version: str, kind: str, hint: str) -> Violation:
    return _refused("document-kind", ("kind",), f"{api_version:.100} has no kind {kind!r:.100}", hint)


def _of_another(group: str, api_version: str) -> bool:
    # Other projects have kinds of our names (an Instance, a Setting); only a group like ours is a misspelt one.
    return "." in group and not _near(group) and api_version.count("/") == 1


def _near(group: str) -> bool:
    return bool(difflib.get_close_matches(group.lower(), _OURS, 1, 0.85))


def _refused(rule: str, path: tuple[str, ...], message: str, hint: str = "") -> Violation:
    return Violation(rule, path, message, hint, blocking=True)


def _kinds() -> str:
    return f"one of {', '.join(BY_KIND)}, or a kind of Kubernetes"


def _noun(value: Any) -> str:
    return "a list" if isinstance(value, list) else "a single value"
