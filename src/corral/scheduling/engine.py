"""The engine: a snapshot in, a plan out."""

from collections.abc import Callable, Iterable, Iterator

from corral.core.plans import ALL_ACTIONS, Action, Plan
from corral.core.workloads import Replica, ReplicaGroup, Workload
from corral.scheduling.allocate import allocate
from corral.scheduling.checks import pools_of
from corral.scheduling.config import Config
from corral.scheduling.consolidate import consolidate
from corral.scheduling.cycle import Cycle
from corral.scheduling.outcome import plan_of
from corral.scheduling.preempt import preempt
from corral.scheduling.reclaim import reclaim
from corral.scheduling.snapshot import Snapshot
from corral.scheduling.stale import evict_stale_gangs

_ACTIONS: dict[Action, Callable[[Cycle], None]] = {
    Action.ALLOCATE: allocate,
    Action.CONSOLIDATE: consolidate,
    Action.RECLAIM: reclaim,
    Action.PREEMPT: preempt,
    Action.EVICT_STALE_GANGS: evict_stale_gangs,
}


def schedule(
    snapshot: Snapshot, config: Config | None = None, actions: Iterable[Action] = ALL_ACTIONS
) -> Plan:
    """The plan of one cycle. Pools are independent; the actions run in their fixed order."""
    return plan_of(play(snapshot, config or Config(), actions), snapshot.claims)


def play(snapshot: Snapshot, config: Config, actions: Iterable[Action]) -> list[Cycle]:
    """The cycles of all pools after their actions."""
    chosen = set(actions)
    cycles = list(cycles_of(snapshot, config))
    for cycle in cycles:
        for action, act in _ACTIONS.items():
            if action in chosen:
                act(cycle)
    return cycles


def cycles_of(snapshot: Snapshot, config: Config) -> Iterator[Cycle]:
    homes = {node.name: pools_of(node, snapshot)[0] for node in snapshot.nodes}
    works: dict[str, list[Workload]] = {pool.name: [] for pool in snapshot.pools}
    for workload in snapshot.workloads:
        works[_pool_of(workload, snapshot, homes)].append(workload)
    for pool in sorted(snapshot.pools, key=lambda pool: pool.name):
        nodes = [node for node in snapshot.nodes if homes[node.name] == pool.name]
        mix = snapshot.mix.get(pool.name)
        yield Cycle(snapshot.now, pool, nodes, snapshot.queues, works[pool.name], config, mix)


def _pool_of(workload: Workload, snapshot: Snapshot, homes: dict[str, str]) -> str:
    """Where a workload counts as wanted: where it runs, else its first choice."""
    for group in workload.groups:
        for replica in _replicas(group):
            if replica.node is not None:
                return homes[replica.node]
    return workload.pools[0] if workload.pools else snapshot.pools[0].name


def _replicas(group: ReplicaGroup) -> Iterator[Replica]:
    yield from group.replicas
    for below in group.groups:
        yield from _replicas(below)
