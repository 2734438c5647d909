"""Owns what a node's programs are told: configuration of kubelet, containerd and the Pod network, as text.

Refuses fixed paths of the machine: what the programs do not let one set is covered by the node's own ``/var/lib``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .layout import NodeLayout
from .pki import Pair

PAUSE = "bed.local/pause:1"


@dataclass(frozen=True)
class NodeFacts:
    """All that the configuration of one node depends on."""

    name: str
    address: str
    network: str
    reachable: tuple[str, ...]
    layout: NodeLayout
    kubelet_port: int
    healthz_port: int
    stream_port: int
    authority: Path
    serving: Pair
    cni: Path
    runc: Path
    shim: Path

    @property
    def network_name(self) -> str:
        """The Pod network's name."""
        return f"gsm-{self.name}"


def kubelet(facts: NodeFacts, settings: Mapping[str, object]) -> str:
    """The KubeletConfiguration (JSON is YAML), with ``settings`` laid over it."""
    layout = facts.layout
    return json.dumps(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": facts.address,
            "port": facts.kubelet_port,
            "healthzBindAddress": facts.address,
            "healthzPort": facts.healthz_port,
            "readOnlyPort": 0,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(facts.authority)},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": str(facts.serving.certificate),
            "tlsPrivateKeyFile": str(facts.serving.key),
            "containerRuntimeEndpoint": f"unix://{layout.socket}",
            "podLogsDir": str(layout.logs),
            "volumePluginDir": str(layout.root / "flexvolume"),
            "staticPodPath": "",
            # cgroup v1 and no kubelet slice: the machine's cgroups are not ours to lay out.
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            # Nor are its firewall rules, or its swap.
            "makeIPTablesUtilChains": False,
            "failSwapOn": False,
            "localStorageCapacityIsolation": False,
            # Above zero, or the kubelet refuses; as low as can be, or a full disk of the machine evicts the tests.
            "evictionHard": {"memory.available": "1Mi", "nodefs.available": "1Mi", "imagefs.available": "1Mi"},
            "imageGCHighThresholdPercent": 100,
            "registerNode": True,
            "nodeStatusUpdateFrequency": "5s",
            "shutdownGracePeriod": "0s",
            "syncFrequency": "10s",
            "clusterDomain": "cluster.local",
            "resolvConf": str(layout.config / "resolv.conf"),
            "maxPods": 25,
            **settings,
        },
        indent=1,
    )


def containerd(facts: NodeFacts) -> str:
    """containerd's configuration (version 3): every path below the node's folder, nothing pulled from outside."""
    layout, runc = facts.layout, "plugins.'io.containerd.cri.v1.runtime'"
    images = "plugins.'io.containerd.cri.v1.images'"
    return f"""version = 3
root = '{layout.containerd_root}'
state = '{layout.containerd_state}'
disabled_plugins = [
  'io.containerd.internal.v1.opt', 'io.containerd.nri.v1.nri',
  'io.containerd.internal.v1.tracing', 'io.containerd.tracing.processor.v1.otlp',
  'io.containerd.snapshotter.v1.blockfile', 'io.containerd.snapshotter.v1.erofs',
]

[grpc]
address = '{layout.socket}'

[ttrpc]
address = '{layout.root / "ttrpc.sock"}'

[plugins.'io.containerd.shim.v1.manager']
socket_dir = '{layout.shims}'

[{images}]
snapshotter = 'overlayfs'

[{images}.pinned_images]
sandbox = '{PAUSE}'

[{images}.registry]
config_path = '{layout.config / "certs.d"}'

[{runc}]
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
disable_apparmor = true
enable_unprivileged_ports = false
enable_unprivileged_icmp = false

[{runc}.cni]
bin_dirs = ['{facts.cni}']
conf_dir = '{layout.config / "net.d"}'

[{runc}.containerd]
default_runtime_name = 'runc'

[{runc}.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'
runtime_path = '{facts.shim}'

[{runc}.containerd.runtimes.runc.options]
BinaryName = '{facts.runc}'
Root = '{layout.root / "runc"}'
SystemdCgroup = false

[plugins.'io.containerd.grpc.v1.cri']
disable_tcp_service = true
stream_server_address = '127.0.0.1'
stream_server_port = '{facts.stream_port}'
"""


def network(facts: NodeFacts) -> str:
    """The Pod network: a pair of interfaces per Pod, routes to the bed's Pods and nodes, none to the outside."""
    return json.dumps(
        {
            "cniVersion": "1.0.0",
            "name": facts.network_name,
            "plugins": [
                {
                    "type": "ptp",
                    "ipMasq": False,
                    "ipam": {
                        "type": "host-local",
                        "dataDir": str(facts.layout.root / "ipam"),
                        "ranges": [[{"subnet": facts.network}]],
                        "routes": [{"dst": network} for network in facts.reachable],
                    },
                }
            ],
        },
        indent=1,
    )


# Mounts that a node's programs make below the bed's folder must be seen by each other and by the machine, so those keep
# their peer group. All others only follow the machine's (a private copy would keep another bed's disk busy), and the
# node's own /var/lib and /var/log cover the machine's.
OWN_MOUNTS = """
while read -r _ _ _ _ point _; do
  case "$point" in "$0"|"$0"/*) ;; *) mount --make-slave "$point" 2>/dev/null || : ;; esac
done < /proc/self/mountinfo
mount --bind "$1/lib" /var/lib && mount --bind "$1/log" /var/log || exit 1
shift
exec "$@"
"""


def in_own_mounts(bed: Path, layout: NodeLayout, argv: list[str]) -> list[str]:
    """A command line that runs ``argv`` in a mount namespace of its own; the process id stays the same."""
    script = ["/bin/sh", "-c", OWN_MOUNTS, str(bed), str(layout.own)]
    return ["unshare", "--mount", "--propagation", "unchanged", "--", *script, *argv]
