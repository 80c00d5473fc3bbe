"""Infeasible work: workloads that the cluster could not run even if it were empty.

They are not in the planner: they have no turn and no share, and hold nobody up. They are checked again when
nodes, pools or quotas change.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from corral.core.explanations import Explanation
from corral.core.nodes import Node
from corral.core.plans import Infeasible, Plan, ReasonKind
from corral.core.queues import Queue
from corral.core.workloads import ReplicaState, Workload
from corral.scheduling.live.empty_cluster import EmptyCluster
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.planning.pool_choice import replicas_of

# New kinds of work that are checked in one cycle; the others wait for the next.
MAX_CHECKS_PER_CYCLE = 200
# There is room for these, or they run already.
_TEMPORARY = {ReasonKind.RESERVED, ReasonKind.HELD, ReasonKind.MEMBERS_LEAVING, ReasonKind.NOT_TRIED}


@dataclass(frozen=True, slots=True)
class FullCapacity:
    """What is different when everything that a zone has is there.

    Nodes that are lost or cordoned or have faulty devices, as they would be; and all queues, where what
    they are guaranteed goes with what is there (None: as they are).
    """

    nodes: tuple[Node, ...] = ()
    queues: tuple[Queue, ...] | None = None


class InfeasibleWork:
    """Beside a planner that has the feasible work."""

    def __init__(self, planner: PlannerState, full: FullCapacity, out: Iterable[Workload]) -> None:
        self._planner = planner
        self._full = full
        self._cluster: EmptyCluster | None = None  # built for the first that waits
        self._out = {workload.name: workload for workload in out}
        self._confirmed_infeasible: set[str] = set()  # infeasible, and nothing has changed since
        self._confirmed_feasible: set[str] = set()  # feasible, likewise
        self._unreported: dict[str, Infeasible] = {}  # became infeasible here
        self._leaf: Queue | None = None  # of the question that is answered now

    def is_out(self, name: str) -> bool:
        return name in self._out

    def workloads_changed(
        self, workloads: Iterable[Workload], gone: Iterable[str], out: Iterable[Workload]
    ) -> None:
        """Workloads as their owner reports them; the planner has the feasible ones already."""
        for name in (*(each.name for each in workloads), *gone):
            self._forget(name)
        for workload in out:
            stays = workload.name in self._unreported
            self._forget(workload.name)
            self._out[workload.name] = workload
            if stays:
                self._confirmed_infeasible.add(workload.name)

    def capacity_changed(self, names: Iterable[str], full: FullCapacity | None) -> None:
        """The planner got other nodes or queues."""
        touched = {*names, *(node.name for node in self._full.nodes)}
        if full is not None:
            self._full = full
            touched |= {node.name for node in full.nodes}
        if self._cluster is None:
            self._recheck_all()
            return
        dormant = {node.name: node for node in self._full.nodes}
        nodes = {name: dormant.get(name) or self._planner.node(name) for name in touched}
        if self._cluster.change(nodes, self._queues()):
            self._recheck_all()

    def remove_infeasible(self, plan: Plan) -> bool:
        """Takes work that could never run out of the planner; whether there was any."""
        waiting = [
            self._planner.workload(each.workload)
            for each in plan.unplaced
            if each.workload not in self._confirmed_feasible and each.reason.kind not in _TEMPORARY
        ]
        found = [
            infeasible
            for each in self._within_budget(waiting)
            if (infeasible := self._judged(each, self._confirmed_feasible))
        ]
        for each in found:
            self._out[each.workload] = self._planner.workload(each.workload)
            self._confirmed_infeasible.add(each.workload)
            self._unreported[each.workload] = each
            self._planner.drop_workload(each.workload)
        return bool(found)

    def finish(self, plan: Plan) -> Plan:
        """The plan with work that became infeasible or feasible and was not reported yet."""
        unsure = [workload for name, workload in self._out.items() if name not in self._confirmed_infeasible]
        back = []
        for workload in self._within_budget(unsure):
            if self._judged(workload, set()) is None:
                back.append(workload.name)
            else:
                self._confirmed_infeasible.add(workload.name)
        return replace(plan, infeasible=tuple(self._unreported.values()), feasible=tuple(sorted(back)))

    def judge(self, workload: Workload) -> Infeasible | None:
        """Of one workload, which need not be known."""
        return self._empty_cluster().judge(workload, (self._planner.pool_for(workload),))

    def explain_workload(self, workload: Workload, now: int) -> Explanation:
        return self._empty_cluster().explain_workload(workload, now)

    def workload(self, name: str) -> Workload:
        """An infeasible workload."""
        return self._out[name]

    @contextmanager
    def with_leaf(self, queue: Queue) -> Iterator[None]:
        """As if the queue were there too, for a question; nothing is built anew."""
        self._leaf = queue
        if self._cluster is not None:
            self._cluster.add_leaf(queue)
        try:
            with self._planner.with_leaf(queue):
                yield
        finally:
            self._leaf = None
            if self._cluster is not None:  # built before, or with the leaf
                self._cluster.drop_leaf(queue.name)

    def _judged(self, workload: Workload, fine: set[str]) -> Infeasible | None:
        if any(replica.state is not ReplicaState.PENDING for replica in replicas_of(workload)):
            return None
        infeasible = self.judge(workload)
        if infeasible is None:
            fine.add(workload.name)
        return infeasible

    def _within_budget(self, workloads: Sequence[Workload]) -> Iterable[Workload]:
        """As many as may be checked in one cycle; cached answers cost nothing."""
        checked = 0
        for workload in workloads:
            new = not self._empty_cluster().knows(workload, (self._planner.pool_for(workload),))
            checked += new
            if checked > MAX_CHECKS_PER_CYCLE:
                return
            yield workload

    def _empty_cluster(self) -> EmptyCluster:
        if self._cluster is None:
            snapshot = self._planner.snapshot(0)
            nodes = {node.name: node for node in (*snapshot.nodes, *self._full.nodes)}
            self._cluster = EmptyCluster(
                replace(snapshot, nodes=tuple(nodes.values()), queues=self._queues())
            )
        return self._cluster

    def _queues(self) -> tuple[Queue, ...]:
        if self._full.queues is None:
            return self._planner.queues
        return self._full.queues if self._leaf is None else (*self._full.queues, self._leaf)

    def _recheck_all(self) -> None:
        for name in list(self._unreported):
            self._planner.set_workload(self._out[name])
            self._forget(name)
        self._confirmed_feasible.clear()
        self._confirmed_infeasible.clear()

    def _forget(self, name: str) -> None:
        self._out.pop(name, None)
        self._unreported.pop(name, None)
        self._confirmed_infeasible.discard(name)
        self._confirmed_feasible.discard(name)
