"""Owns the data plane: fetching wanted files from their sources into `partial/`, every byte hashed on its way.

Refuses layout, ledger and publication: the store does those with what it is handed.
"""

from gpustack_models.store.transfer.patience import Retry
from gpustack_models.store.transfer.transfer import Transfer

__all__ = ["Retry", "Transfer"]
