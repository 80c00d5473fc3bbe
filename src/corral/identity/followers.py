"""What other packages keep for each organisation follows it: made with it, moved with it, gone with it."""

from collections.abc import Mapping
from typing import Protocol

from corral.identity.lookups import Node
from corral.store.database import Transaction


class OrganisationFollower(Protocol):
    """Called in the transaction that changes the organisation."""

    def created(self, transaction: Transaction, node: Node) -> None: ...

    def moved(self, transaction: Transaction, node: Node) -> None:
        """It lies elsewhere now, with all below it."""

    def contents(self, transaction: Transaction, node: Node) -> Mapping[str, int]:
        """What of it must be moved or deleted first, in the words of the refusal: `{"workloads": 3}`."""

    def deleted(self, transaction: Transaction, node: Node) -> None:
        """Called just before the organisation is deleted."""
