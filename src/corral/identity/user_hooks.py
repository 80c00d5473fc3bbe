"""What other packages keep for a person: they say what is in the way of a deletion, and clean up."""

from collections.abc import Mapping
from typing import Protocol

from corral.store.database import Transaction


class UserHook(Protocol):
    """Called in the transaction that deletes the account."""

    def in_the_way(self, transaction: Transaction, user_id: str) -> Mapping[str, int]:
        """What must end first, in the words of the refusal: `{"workloads that are not over": 3}`."""

    def delete(self, transaction: Transaction, user_id: str) -> None: ...
