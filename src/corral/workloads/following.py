"""What organisations and queues hear of workloads: what they hold, and what keeps an organisation."""

from collections.abc import Mapping

from sqlalchemy import func, select

from corral.core.resources import Amount
from corral.identity.lookups import Node
from corral.queues.use import Place, Use
from corral.store.database import Transaction
from corral.workloads.tables import allocation, workload
from corral.zones.tables import node


def use_of_queues(transaction: Transaction) -> Mapping[Place, Use]:
    """What is held by the work of each queue in each pool; a node's pool is the one it is in now."""
    held = transaction.rows(
        select(
            workload.c.queue_id,
            node.c.pool_id,
            func.sum(allocation.c.gpu_milli),
            func.sum(allocation.c.cpu_milli),
            func.sum(allocation.c.memory_mib),
        )
        .join(workload, workload.c.id == allocation.c.workload_id)
        .join(node, (node.c.zone_id == allocation.c.zone_id) & (node.c.name == allocation.c.node))
        .group_by(workload.c.queue_id, node.c.pool_id)
    )
    return {
        (queue_id, pool_id): Use(Amount(int(gpu), int(cpu), int(memory)))
        for queue_id, pool_id, gpu, cpu, memory in held
    }


class WorkloadsFollow:
    """An organisation in which work was submitted stays: its records speak of it, also of deleted work."""

    def created(self, transaction: Transaction, node: Node) -> None: ...

    def moved(self, transaction: Transaction, node: Node) -> None: ...

    def contents(self, transaction: Transaction, node: Node) -> Mapping[str, int]:
        there = select(func.count()).where(workload.c.organisation_id == node.id)
        count = transaction.scalar(there)
        return {"workloads in its records": count} if count else {}

    def deleted(self, transaction: Transaction, node: Node) -> None: ...
