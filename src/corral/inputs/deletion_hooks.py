"""A person's secrets and runtimes go with the account; uploads are cleared away when no work has them."""

from collections.abc import Mapping

from sqlalchemy import delete, update

from corral.inputs.tables import runtime, secret
from corral.store.database import Transaction


class InputsOfPeople:
    def in_the_way(self, transaction: Transaction, user_id: str) -> Mapping[str, int]:  # noqa: ARG002
        return {}

    def delete(self, transaction: Transaction, user_id: str) -> None:
        transaction.run(delete(runtime).where(runtime.c.user_id == user_id))
        live = (secret.c.user_id == user_id, secret.c.withdrawn_at.is_(None))
        transaction.run(update(secret).where(*live).values(withdrawn_at=transaction.now))
