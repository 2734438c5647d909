"""Owns the Pod of an Instance: its volumes, models among them, or the one reason why it waits.

Refuses an engine's download: a hub's weights come through the node plugin, whatever the Setting says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpustack_models.core import placement
from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.delivery.decision import artifact_missing, claim_of, driver_missing, unresolved
from gpustack_models.core.delivery.floors import node_blocks
from gpustack_models.core.delivery.plan import additions_for
from gpustack_models.core.delivery.pods import FINGERPRINT, MANAGED_BY, fingerprint, owned_by
from gpustack_models.core.delivery.weights import MODEL_VOLUME, mounted
from gpustack_models.core.deployment import Delivery
from gpustack_models.core.facts import Cluster
from gpustack_models.core.instance import AdditionalVolume, Instance
from gpustack_models.core.reasons import Blocked
from gpustack_models.core.resource import DEFAULT_NAMESPACE, JsonObject

CONTAINER = "instance"
VOLUME = "gpustack-volume"


@dataclass(frozen=True, slots=True)
class InstancePlan:
    """An Instance, decided: why it waits, or None; its Pod as it is created, None while it waits or is stopped."""

    blocked: Blocked | None
    pod: JsonObject | None


@dataclass(frozen=True, slots=True)
class _Model:
    """A model volume: its index, where it is mounted, its artifact and how that is delivered."""

    index: int
    path: str
    artifact: ModelArtifact
    delivery: Delivery


def plan_instance(instance: Instance, artifacts: Mapping[str, ModelArtifact], cluster: Cluster) -> InstancePlan:
    """Decide an Instance (model-artifact.md, "Instance model volumes"). `artifacts` are its namespace's, by name."""
    if instance.spec.stop:
        return InstancePlan(None, None)
    blocked = next(_blocks(instance, artifacts, cluster), None)
    if blocked is not None:
        return InstancePlan(blocked, None)
    models = tuple(_models(instance, artifacts))
    return InstancePlan(None, _placed(instance, models, cluster))


def delivery_to_instance(artifact: ModelArtifact) -> Delivery:
    """How an Instance gets an artifact: there is no engine to download it."""
    source = artifact.spec.source
    if source.persistent_volume_claim is not None:
        return Delivery.PVC
    return Delivery.IMAGE if source.image is not None else Delivery.NODE


def _blocks(instance: Instance, artifacts: Mapping[str, ModelArtifact], cluster: Cluster) -> Iterator[Blocked]:
    for volume in instance.spec.additional_volumes:
        if volume.model is None:
            continue
        name = volume.model.artifact_ref.name
        if name not in artifacts:
            yield artifact_missing(name)
            continue
        yield from filter(None, _artifact_blocks(instance, artifacts[name], cluster))


def _artifact_blocks(instance: Instance, artifact: ModelArtifact, cluster: Cluster) -> Iterator[Blocked | None]:
    yield unresolved(artifact)
    yield claim_of(artifact, cluster, pods=1)
    delivery = delivery_to_instance(artifact)
    if delivery is Delivery.NODE:
        yield driver_missing(artifact, cluster)
    if delivery is Delivery.IMAGE and instance.spec.node_name:
        yield node_blocks(instance.spec.node_name, cluster.node(instance.spec.node_name))


def _models(instance: Instance, artifacts: Mapping[str, ModelArtifact]) -> Iterator[_Model]:
    for index, volume in enumerate(instance.spec.additional_volumes):
        if volume.model is not None:
            artifact = artifacts[volume.model.artifact_ref.name]
            yield _Model(index, volume.mount_path, artifact, delivery_to_instance(artifact))


def _placed(instance: Instance, models: tuple[_Model, ...], cluster: Cluster) -> JsonObject:
    added = [additions_for(model.artifact, model.delivery, cluster) for model in models]
    required = [terms for each in added for terms in each.required]
    if instance.spec.node_name:
        return placement.placed(_pod(instance, models), [placement.pinned(instance.spec.node_name), *required], ())
    warm = {str(term): term for each in added for term in each.warm}
    return placement.placed(_pod(instance, models), required, warm.values())


def _pod(instance: Instance, models: tuple[_Model, ...]) -> JsonObject:
    labels = {
        **instance.spec.labels,
        "app.kubernetes.io/name": "instance",
        "app.kubernetes.io/instance": instance.name[:63].rstrip("-."),
        "app.kubernetes.io/managed-by": MANAGED_BY,
    }
    spec = _spec(instance, models)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": instance.name,
            "namespace": instance.namespace or DEFAULT_NAMESPACE,
            "labels": labels,
            "annotations": {FINGERPRINT: fingerprint(labels, {**spec, "pinned": instance.spec.node_name})},
            **owned_by(instance),
        },
        "spec": spec,
    }


def _spec(instance: Instance, models: tuple[_Model, ...]) -> JsonObject:
    of = instance.spec
    given = [_given(index, each) for index, each in enumerate(of.additional_volumes) if each.model is None]
    volumes = [volume for volume, _ in given]
    mounts = [mount for _, mount in given]
    for model in models:
        found = mounted(model.artifact, model.delivery, f"{MODEL_VOLUME}-{model.index}", model.path)
        volumes.append(found.volume)
        mounts.append(found.mount)
    container: JsonObject = {
        "name": CONTAINER,
        "image": of.image,
        "command": list(of.command),
        "args": list(of.args),
        "env": [variable.to_object() for variable in of.env],
        "resources": of.resources.to_object(),
        "ports": list(of.ports),
        "volumeMounts": mounts,
    }
    spec: JsonObject = {
        "containers": [{name: value for name, value in container.items() if value}],
        "volumes": volumes,
        "nodeSelector": of.node_selector,
        "tolerations": list(of.tolerations),
        "imagePullSecrets": [reference.to_object() for reference in of.image_pull_secrets],
    }
    return {name: value for name, value in spec.items() if value}


def _given(index: int, volume: AdditionalVolume) -> tuple[JsonObject, JsonObject]:
    name = f"{VOLUME}-{index}"
    mount: JsonObject = {"name": name, "mountPath": volume.mount_path}
    if volume.sub_path:
        mount["subPath"] = volume.sub_path
    if volume.read_only:
        mount["readOnly"] = True
    return {"name": name, **volume.source}, mount
