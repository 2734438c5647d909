"""Owns the Pods of a deployment: a template for each role, its fingerprint, and the Pod that is made from it.

Refuses to decide whether one may be created, and to invent a name: the suffix is handed in.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from gpustack_models.core import quantity
from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.delivery import weights as rendered
from gpustack_models.core.deployment import Delivery, ModelDeployment, Role
from gpustack_models.core.engines.catalogue import ENGINES
from gpustack_models.core.engines.expansion import Variable
from gpustack_models.core.engines.line import EngineLine, Weights, arguments
from gpustack_models.core.engines.model import Engine, KvCache, Probe, Probes
from gpustack_models.core.resource import DEFAULT_NAMESPACE, JsonObject, Resource
from gpustack_models.core.setting import Settings

FINGERPRINT = "worker.gpustack.ai/fingerprint"
MANAGED_BY = "gpustack-operator"
CONTAINER = "engine"
EPHEMERAL_STORAGE = "ephemeral-storage"
PORT_NAME = "http"


@dataclass(frozen=True, slots=True)
class Subject:
    """A deployment with the artifact that it names (None without one) and how that is delivered."""

    deployment: ModelDeployment
    artifact: ModelArtifact | None
    delivery: Delivery | None
    settings: Settings


@dataclass(frozen=True, slots=True)
class Template:
    """A role's Pod before it has a name or a place. `fingerprint` is the hash of everything rendered in it."""

    role: Role
    labels: dict[str, str]
    spec: JsonObject
    fingerprint: str


def selector(deployment: ModelDeployment, role: str) -> dict[str, str]:
    """The labels that find a role's Pods."""
    return {
        "app.kubernetes.io/name": deployment.spec.engine.name.lower(),
        "app.kubernetes.io/instance": deployment.name,
        "app.kubernetes.io/component": role,
        "app.kubernetes.io/managed-by": MANAGED_BY,
    }


def template(subject: Subject, role: Role) -> Template:
    """A role's Pod (workloads.md, "ModelDeployment"): a managed role gets the engine's line, probes and environment,
    a take-over role the mount of the weights and nothing else.
    """
    container = _container(role)
    volumes = [volume.volume for volume in role.volumes]
    mounts = [volume.mount for volume in role.volumes]
    for mounted in _mounts(subject, role):
        volumes.append(mounted.volume)
        mounts.append(mounted.mount)
    if role.managed:
        container = _managed(subject, role, container)
    if mounts:
        container["volumeMounts"] = mounts
    spec: JsonObject = {"containers": [container]}
    if volumes:
        spec["volumes"] = volumes
    if role.managed:
        # Variables of Services, such as VLLM_PORT of one called vllm, would be read by the engine as its own.
        spec["enableServiceLinks"] = False
    spec |= _scheduling(role)
    labels = {**role.labels, **selector(subject.deployment, role.name)}
    return Template(role, labels, spec, fingerprint(labels, spec))


def pod(deployment: ModelDeployment, of: Template, ordinal: int, suffix: str) -> JsonObject:
    """One replica, `<deployment>-<role>-<ordinal>-<suffix>`: owned, labelled, annotated with the fingerprint."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{deployment.name}-{of.role.name}-{ordinal}-{suffix}",
            "namespace": deployment.namespace or DEFAULT_NAMESPACE,
            "labels": of.labels,
            "annotations": {FINGERPRINT: of.fingerprint},
            **owned_by(deployment),
        },
        "spec": of.spec,
    }


def ordinal_of(pod_name: str) -> int | None:
    """The ordinal in a replica's name, or None when it is not one."""
    parts = pod_name.rsplit("-", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isascii() and parts[1].isdigit() else None


def service(deployment: ModelDeployment) -> JsonObject:
    """The Service that fronts the first role's port."""
    role = deployment.spec.roles[0]
    labels = selector(deployment, role.name)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": deployment.name,
            "namespace": deployment.namespace or DEFAULT_NAMESPACE,
            "labels": labels,
            **owned_by(deployment),
        },
        "spec": {
            "selector": labels,
            "ports": [{"name": PORT_NAME, "port": role.port, "protocol": "TCP", "targetPort": role.port}],
        },
    }


def endpoint(deployment: ModelDeployment) -> str:
    """Where the deployment is served inside the cluster."""
    namespace = deployment.namespace or DEFAULT_NAMESPACE
    return f"http://{deployment.name}.{namespace}.svc:{deployment.spec.roles[0].port}"


def owned_by(owner: Resource) -> JsonObject:
    """The `ownerReferences` member; empty for an object that has no UID yet."""
    if not owner.metadata.uid:
        return {}
    reference = {
        "apiVersion": owner.KIND.api_version,
        "kind": owner.KIND.kind,
        "name": owner.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {"ownerReferences": [reference]}


def fingerprint(labels: dict[str, str], spec: JsonObject) -> str:
    """The hash of everything rendered: SHA-256 of the canonical JSON, in hex."""
    canonical = json.dumps({"labels": labels, "spec": spec}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _container(role: Role) -> JsonObject:
    container: JsonObject = {
        "name": CONTAINER,
        "image": role.image,
        "ports": [{"name": PORT_NAME, "containerPort": role.port, "protocol": "TCP"}],
    }
    if role.command:
        container["command"] = list(role.command)
    if role.extra_args:
        container["args"] = list(role.extra_args)
    if role.env:
        container["env"] = [variable.to_object() for variable in role.env]
    if resources := role.resources.to_object():
        container["resources"] = resources
    return container


def _mounts(subject: Subject, role: Role) -> list[rendered.Mounted]:
    if subject.artifact is None or subject.delivery is None:
        return []
    if subject.delivery is not Delivery.ENGINE:
        return [rendered.mounted(subject.artifact, subject.delivery)]
    return [rendered.cache(subject.artifact)[0]] if role.managed else []


def _managed(subject: Subject, role: Role, container: JsonObject) -> JsonObject:
    engine = ENGINES[subject.deployment.spec.engine.name]
    container = {**container, "command": list(engine.command), "args": list(_line(subject, role, engine))}
    if subject.delivery is Delivery.ENGINE and subject.artifact is not None:
        own = frozenset(variable.name for variable in role.env)
        variables = rendered.environment(subject.artifact, subject.settings, engine.modelscope_switch, own)
        container["env"] = [*variables, *container.get("env", ())]
        container = _raised(container, rendered.cache(subject.artifact)[1])
    return {**container, **_probes(engine.probes, role.port)}


def _line(subject: Subject, role: Role, engine: Engine) -> tuple[str, ...]:
    spec, artifact = subject.deployment.spec, subject.artifact
    names = Weights(spec.model.name)
    if artifact is not None and subject.delivery is not None:
        names = rendered.weights(artifact, subject.delivery)
    cache = None
    if spec.kv_cache is not None:
        identity = rendered.identity(artifact) if artifact is not None else ""
        cache = KvCache(role.kind, spec.kv_cache.config, identity, spec.engine.manufacturer)
    variables = tuple(Variable.of(variable.to_object()) for variable in role.env)
    return arguments(engine, EngineLine(spec.model.name, role.port, names, cache, role.extra_args, variables))


def _raised(container: JsonObject, size: int) -> JsonObject:
    # Kubelet counts the emptyDir toward the Pod's own limit; the request, which quota and scheduler read, stays. The
    # API server would make one of a limit that has none: it is written out, or the raise would be asked for too.
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    if EPHEMERAL_STORAGE not in limits:
        return container
    raised = {**limits, EPHEMERAL_STORAGE: str(quantity.whole(limits[EPHEMERAL_STORAGE]) + size)}
    asked = {EPHEMERAL_STORAGE: limits[EPHEMERAL_STORAGE], **(resources.get("requests") or {})}
    return {**container, "resources": {**resources, "limits": raised, "requests": asked}}


def _probes(probes: Probes, port: int) -> JsonObject:
    def probe(numbers: Probe) -> JsonObject:
        return {
            "httpGet": {"path": probes.path, "port": port},
            "periodSeconds": numbers.period,
            "timeoutSeconds": numbers.timeout,
            "failureThreshold": numbers.failures,
        }

    return {
        "startupProbe": probe(probes.startup),
        "readinessProbe": probe(probes.readiness),
        "livenessProbe": probe(probes.liveness),
    }


def _scheduling(role: Role) -> JsonObject:
    members: JsonObject = {
        "nodeSelector": role.node_selector,
        "tolerations": list(role.tolerations),
        "imagePullSecrets": [reference.to_object() for reference in role.image_pull_secrets],
        "serviceAccountName": role.service_account_name,
    }
    return {name: value for name, value in members.items() if value}
