"""What other packages keep for a pool: they say what is in the way of its deletion, and clean up after it."""

from collections.abc import Mapping
from typing import Protocol

from corral.store.database import Transaction


class PoolHook(Protocol):
    """Called in the transaction that deletes the pool."""

    def in_the_way(self, transaction: Transaction, zone_id: str, pool_id: str) -> Mapping[str, int]:
        """What must be removed first, in the words of the refusal: `{"quotas": 3}`."""

    def delete(self, transaction: Transaction, pool_id: str) -> None:
        """Called just before the pool is deleted."""
