"""The test bed: a real Kubernetes cluster on one machine, in seconds.

Refuses fakes: etcd, the API server, kubelets and containerd are the ones that clusters run.
"""

from .bed import Bed, Options
from .errors import BedError
from .images import BUSYBOX, Image
from .kubectl import Kubectl, RefusedError
from .node import Node

__all__ = ["BUSYBOX", "Bed", "BedError", "Image", "Kubectl", "Node", "Options", "RefusedError"]
