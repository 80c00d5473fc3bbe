"""What organisations hear of workloads: what keeps one of them from being deleted."""

from collections.abc import Mapping

from sqlalchemy import func, select

from corral.identity.lookups import Node
from corral.store.database import Transaction
from corral.workloads.tables import workload


class WorkloadsFollow:
    """An organisation in which work was submitted stays: its records speak of it, also of deleted work."""

    def created(self, transaction: Transaction, node: Node) -> None: ...

    def moved(self, transaction: Transaction, node: Node) -> None: ...

    def contents(self, transaction: Transaction, node: Node) -> Mapping[str, int]:
        there = select(func.count()).where(workload.c.organisation_id == node.id)
        count = transaction.scalar(there)
        return {"workloads in its records": count} if count else {}

    def deleted(self, transaction: Transaction, node: Node) -> None: ...
