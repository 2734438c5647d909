"""Owns the table of the five resources: which model reads which kind.

Refuses any other kind.
"""

from __future__ import annotations

from gpustack_models.core.artifact import ModelArtifact
from gpustack_models.core.deployment import ModelDeployment
from gpustack_models.core.instance import Instance
from gpustack_models.core.nodestore import NodeModelStore
from gpustack_models.core.resource import Resource
from gpustack_models.core.setting import Setting

RESOURCES: tuple[type[Resource], ...] = (ModelArtifact, ModelDeployment, Instance, NodeModelStore, Setting)

BY_KIND: dict[str, type[Resource]] = {resource.KIND.kind: resource for resource in RESOURCES}
