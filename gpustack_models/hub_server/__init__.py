"""Owns the local hub: a folder of repositories, served read-only over both hubs' interfaces, with faults for tests.

Refuses writing. `LocalHub` is a running one, `serve` runs one until interrupted.
"""

from gpustack_models.hub_server.faults import KINDS, Fault, fault_of
from gpustack_models.hub_server.listening import is_loopback
from gpustack_models.hub_server.record import Request, fingerprint
from gpustack_models.hub_server.server import LocalHub, ServeOptions, serve
from gpustack_models.hub_server.wire import Origin

__all__ = [
    "KINDS",
    "Fault",
    "LocalHub",
    "Origin",
    "Request",
    "ServeOptions",
    "fault_of",
    "fingerprint",
    "is_loopback",
    "serve",
]
