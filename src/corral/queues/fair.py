"""What each queue's share of a pool is now: the scheduler's own division of what is held and waited for."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from corral.core.queues import Queue
from corral.core.resources import NOTHING, Amount
from corral.queues.rules import USUAL_QUOTA, root_quota, whole_quota
from corral.queues.use import Place, Use
from corral.scheduling.state.config import Config
from corral.scheduling.state.queue_tree import QueueTree
from corral.zones.models import Pool


def fair_shares(
    queues: Collection[Queue], use: Mapping[Place, Use], pools: Collection[Pool]
) -> dict[Place, Amount]:
    """By queue and pool. Who holds less gets it when others hold more than theirs."""
    found: dict[Place, Amount] = {}
    for pool in pools:
        size = Amount(pool.capacity.gpu_milli, pool.capacity.cpu_milli, pool.capacity.memory_mib)
        tree = QueueTree([_as_scheduled(queue, pool.id, size) for queue in queues], pool.id)
        for name, state in tree.by_name.items():
            own = use.get((name, pool.id), Use())
            state.allocated, state.waiting_demand = list(own.held), list(own.wanted or NOTHING)
        tree.divide(size, pool.unit_gpu_milli, Config().history_milli)
        found |= {(name, pool.id): Amount(*state.fair) for name, state in tree.by_name.items()}
    return found


def _as_scheduled(queue: Queue, pool_id: str, size: Amount) -> Queue:
    """With what a guarantee of GPUs brings along; the root has the pool."""
    given = queue.quotas.get(pool_id, {})
    if queue.parent is None:
        return replace(queue, quotas={pool_id: root_quota(given, size)})
    said = {resource: quota for resource, quota in given.items() if quota != USUAL_QUOTA}
    return replace(queue, quotas={pool_id: whole_quota(said, size)})
