"""gpustack-models: model weights as a first-class, verifiable object."""

__version__ = "0.1.0"
