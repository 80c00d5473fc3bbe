"""Work without isolation is for one person on their own machine; here it is refused while there are more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from corral.control.observations import Kind
from corral.core.refusals import Forbidden
from corral.engines.tasks import Task
from corral.identity.tables import user
from corral.store.database import Transaction
from corral.workloads.rows import ReplicaRow, WorkloadRow


@dataclass(frozen=True, slots=True)
class OnlyOnePerson:
    """A kind whose work is started only while nobody else has an account."""

    kind: Kind

    def tasks(
        self, transaction: Transaction, row: WorkloadRow, replicas: Sequence[ReplicaRow]
    ) -> Mapping[int, Task]:
        people = transaction.scalar(select(func.count()).select_from(user).where(user.c.state == "active"))
        if people > 1:
            raise Forbidden(
                f"Work runs without isolation here (trusted), and {people} people have accounts.",
                "Install bubblewrap and switch trusted off, or disable the other accounts.",
            )
        return self.kind.tasks(transaction, row, replicas)
