"""Hooks of other packages that keep something for each organisation: created, moved, deleted with it."""

from collections.abc import Mapping
from typing import Protocol

from corral.identity.lookups import Organisation
from corral.store.database import Transaction


class OrganisationHooks(Protocol):
    """Called in the transaction that changes the organisation."""

    def created(self, transaction: Transaction, node: Organisation) -> None: ...

    def moved(self, transaction: Transaction, node: Organisation) -> None:
        """Called after the organisation and everything below it has moved."""

    def contents(self, transaction: Transaction, node: Organisation) -> Mapping[str, int]:
        """What of it must be moved or deleted first, in the words of the refusal: `{"workloads": 3}`."""

    def deleted(self, transaction: Transaction, node: Organisation) -> None:
        """Called just before the organisation is deleted."""
