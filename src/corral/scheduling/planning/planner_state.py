"""The planner's state: a snapshot and then changes go in, plans come out.

It survives between plans, so that a cycle costs what changed. A plan depends on the present alone, not on how
it came to be: it equals the plan of a new `PlannerState`.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from corral.core.holds import Claim, Hold
from corral.core.mixes import Mix
from corral.core.nodes import Node, Pool
from corral.core.plans import ALL_ACTIONS, Action, Plan
from corral.core.queues import Queue
from corral.core.refusals import Conflict, Invalid
from corral.core.workloads import Workload
from corral.scheduling.actions.allocate import allocate
from corral.scheduling.actions.consolidate import consolidate
from corral.scheduling.actions.preempt import preempt
from corral.scheduling.actions.reclaim import reclaim
from corral.scheduling.actions.stale_gangs import evict_stale_gangs
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.planning.gc_pause import gc_paused
from corral.scheduling.planning.plan_outcome import plan_of
from corral.scheduling.planning.pool_choice import PoolChoice, replicas_of
from corral.scheduling.state.config import Config
from corral.scheduling.timing.hold_guards import guard_holds
from corral.scheduling.timing.run_time_history import RunTimeStatistics
from corral.scheduling.validate.snapshot import Snapshot
from corral.scheduling.validate.snapshot_checks import pools_of

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
    with gc_paused():
        # Nothing is undone afterwards: this planner makes no second plan.
        return plan_of(PlannerState(snapshot, config).run_actions(snapshot.now, actions), snapshot.claims)


class PlannerState:
    """One cluster, pool by pool. A pool is built anew where nodes get other devices or new kinds of them."""

    def __init__(self, snapshot: Snapshot, config: Config | None = None) -> None:
        self._config = config or Config()
        self._pools: dict[str, Pool] = {pool.name: pool for pool in snapshot.pools}
        self._queues: tuple[Queue, ...] = snapshot.queues
        self._nodes: dict[str, Node] = {node.name: node for node in snapshot.nodes}
        self._pool_of_node: dict[str, str] = {name: self._home(node) for name, node in self._nodes.items()}
        self._choice = PoolChoice(self._pools, self._nodes, self._pool_of_node)
        self._workloads: dict[str, Workload] = {each.name: each for each in snapshot.workloads}
        self._pool_of_work: dict[str, str] = {
            name: self._choice.pool_for(workload) for name, workload in self._workloads.items()
        }
        # Those that wait and may go to another pool with time, or when nodes change.
        self._choosers: dict[str, None] = {
            name: None
            for name, workload in (self._workloads.items() if len(self._pools) > 1 else ())
            if self._choice.has_choice(workload)
        }
        self._holds: tuple[Hold, ...] = snapshot.holds
        self._mixes: dict[str, Mix] = dict(snapshot.mix)
        self._cycles: dict[str, Cycle] = {}  # a pool that is not here is built before the next plan

    def snapshot(self, now: int, claims: tuple[Claim, ...] = ()) -> Snapshot:
        """The present state as a snapshot."""
        return Snapshot(
            now,
            tuple(self._nodes.values()),
            self._queues,
            tuple(self._workloads.values()),
            tuple(self._pools.values()),
            claims,
            self._holds,
            dict(self._mixes),
        )

    @property
    def queues(self) -> tuple[Queue, ...]:
        return self._queues

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def pool_of(self, node: str) -> str:
        """The pool of a node that is there."""
        return self._pool_of_node[node]

    def has_workload(self, name: str) -> bool:
        return name in self._workloads

    def workload(self, name: str) -> Workload:
        """A workload that is there, as last set."""
        return self._workloads[name]

    def pool_for(self, workload: Workload) -> str | None:
        """The pool in which a workload counts, or would count; None if that is not there."""
        pool = self._choice.pool_for(workload)
        return pool if pool in self._pools else None

    def set_workload(self, workload: Workload) -> None:
        """A workload arrived, or something about it changed."""
        pool = self._choice.pool_for(workload)
        cycle = self._cycles.get(pool)
        # Read first: what is wrong with it is refused before anything changes.
        entry = cycle.read(workload) if cycle is not None else None
        self._forget(workload.name)
        if cycle is not None and entry is not None:
            cycle.put(entry)
        self._workloads[workload.name] = workload
        self._pool_of_work[workload.name] = pool
        self._choosers.pop(workload.name, None)
        if self._choice.has_choice(workload):
            self._choosers[workload.name] = None

    def drop_workload(self, name: str) -> None:
        """A workload is over, and nothing of it is left on any node."""
        if name not in self._workloads:
            raise Conflict(f"There is no workload {name}.", "Drop each workload once.")
        self._forget(name)
        del self._workloads[name], self._pool_of_work[name]
        self._choosers.pop(name, None)

    def set_node(self, node: Node) -> None:
        """A node joined, or something about it changed."""
        pool, before = self._home(node), self._nodes.get(node.name)
        was_in = self._pool_of_node.get(node.name)
        self._nodes[node.name] = node
        self._pool_of_node[node.name] = pool
        self._choice.forget()
        cycle = self._cycles.get(pool)
        if cycle is not None and before is not None and was_in == pool and before.devices == node.devices:
            cycle.change_node(node)
            return
        if cycle is not None and before is None and cycle.add_node(node):
            return
        self._cycles.pop(pool, None)
        if was_in is not None and was_in != pool:
            self._cycles.pop(was_in, None)
            self._sort_workloads()

    def drop_node(self, name: str) -> None:
        """A node is gone; its work was changed or dropped before."""
        if name not in self._nodes:
            raise Conflict(f"There is no node {name}.", "Drop each node once.")
        pool = self._pool_of_node[name]
        cycle = self._cycles.get(pool)
        if cycle is None or not cycle.drop_node(name):
            self._refuse_in_use(name)
            self._cycles.pop(pool, None)
        self._choice.forget()
        del self._nodes[name], self._pool_of_node[name]

    def _refuse_in_use(self, node: str) -> None:
        for workload in self._workloads.values():
            if any(replica.node == node for replica in replicas_of(workload)):
                raise Conflict(
                    f"{workload.name} still has a replica on {node}.", "Tell what became of it first."
                )

    def set_queues(self, queues: Iterable[Queue]) -> None:
        """The queues changed: guarantees, limits, weights, usage; with another tree, pools are built anew."""
        self._queues = tuple(queues)
        self._cycles = {
            pool: cycle for pool, cycle in self._cycles.items() if cycle.change_queues(self._queues)
        }

    @contextmanager
    def with_leaf(self, queue: Queue) -> Iterator[None]:
        """As if the queue were there too."""
        self.add_leaf(queue)
        try:
            yield
        finally:
            self.drop_leaf(queue.name)

    def add_leaf(self, queue: Queue) -> None:
        """A queue joins below one without work of its own; pools are not built anew."""
        self._queues = (*self._queues, queue)
        for cycle in self._cycles.values():
            cycle.add_leaf(queue)

    def drop_leaf(self, name: str) -> None:
        """It leaves again; its work has left before."""
        self._queues = tuple(queue for queue in self._queues if queue.name != name)
        for cycle in self._cycles.values():
            cycle.drop_leaf(name)

    def set_run_times(self, statistics: Iterable[RunTimeStatistics]) -> None:
        """More is known of the run times of some queues."""
        taught = {each.queue: each for each in statistics}
        self.set_queues(
            taught[queue.name].applied_to_queue(queue) if queue.name in taught else queue
            for queue in self._queues
        )

    def set_holds(self, holds: Iterable[Hold]) -> None:
        """Windows were added, changed or taken away."""
        self._holds = tuple(holds)

    def set_mix(self, pool: str, mix: Mix) -> None:
        """Placement in a pool has learnt more."""
        self._mixes[pool] = mix
        cycle = self._cycles.get(pool)
        if cycle is not None:
            cycle.change_mix(mix)

    def learn(self, pool: str, mix: Mix) -> Mix:
        """The mix with what is learnt from it and from what is free in the pool now."""
        if pool not in self._pools:
            raise ValueError(f"there is no pool {pool!r}")
        cycle = self._cycle(pool)
        cycle.settle()
        return cycle.placer.learn(mix)

    def plan(
        self,
        now: int,
        actions: Iterable[Action] = ALL_ACTIONS,
        claims: tuple[Claim, ...] = (),
        *,
        reasons: bool = True,
    ) -> Plan:
        """The plan of one cycle; nothing of it is kept, its effects arrive as later changes.

        Without `reasons` it does not say why work waits, which costs most where much waits.
        """
        with gc_paused(), self.cycles_after(now, actions, recording_searches=reasons) as cycles:
            return plan_of(cycles, claims, reasons=reasons)

    @contextmanager
    def cycles_after(
        self, now: int, actions: Iterable[Action] = ALL_ACTIONS, *, recording_searches: bool = True
    ) -> Iterator[list[Cycle]]:
        """The cycles of all pools as their actions left them, until this is closed."""
        try:
            yield self.run_actions(now, actions, recording_searches=recording_searches)
        finally:
            for cycle in self._cycles.values():
                cycle.end()

    def run_actions(
        self, now: int, actions: Iterable[Action], *, recording_searches: bool = True
    ) -> list[Cycle]:
        """Runs the actions in every pool; the next plan needs what they did undone, as `played` does.

        Without `noting`, it is not written down how each search ended.
        """
        chosen = set(actions)
        self._choose_pools(now)
        cycles = [self._cycle(name) for name in sorted(self._pools)]
        for cycle in cycles:
            cycle.begin(now)
            cycle.recording_searches = recording_searches
            guard_holds(cycle, self._holds)
            for action, act in _ACTIONS.items():
                if action in chosen:
                    act(cycle)
        return cycles

    def _cycle(self, pool: str) -> Cycle:
        cycle = self._cycles.get(pool)
        if cycle is None:
            nodes = [node for name, node in self._nodes.items() if self._pool_of_node[name] == pool]
            cycle = Cycle(self._pools[pool], nodes, self._queues, self._config, self._mixes.get(pool))
            names = sorted([name for name, home in self._pool_of_work.items() if home == pool])
            cycle.load([self._workloads[name] for name in names])
            self._cycles[pool] = cycle
        return cycle

    def _forget(self, name: str) -> None:
        cycle = self._cycles.get(self._pool_of_work.get(name, ""))
        if cycle is not None:
            cycle.drop(name)

    def _home(self, node: Node) -> str:
        found = pools_of(node, self._pools.values())
        if len(found) != 1:
            raise Invalid(f"{node.name} is in {len(found)} pools.", "Give it the labels of exactly one pool.")
        return found[0]

    def _sort_workloads(self) -> None:
        for name, workload in self._workloads.items():
            pool = self._choice.pool_for(workload)
            if pool != self._pool_of_work[name]:
                self._cycles.pop(self._pool_of_work[name], None)
                self._cycles.pop(pool, None)
                self._pool_of_work[name] = pool

    def _choose_pools(self, now: int) -> None:
        """Moves those that wait to the pool in which they count now."""
        for name in self._choosers:
            workload = self._workloads[name]
            pool = self._choice.pool_for(workload, now)
            if pool != self._pool_of_work[name]:
                self._forget(name)
                self._pool_of_work[name] = pool
                cycle = self._cycles.get(pool)
                if cycle is not None:
                    cycle.put(cycle.read(workload))
