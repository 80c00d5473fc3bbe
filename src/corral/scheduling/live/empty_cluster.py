"""The empty cluster: what could ever run, found by scheduling it alone on everything that exists.

Lost and cordoned nodes count: they may come back. What no such plan places stays infeasible until nodes,
pools or quotas change.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from corral.core.explanations import Explanation
from corral.core.nodes import Node
from corral.core.plans import CAPACITY, Action, Infeasible, Lack, Reason
from corral.core.queues import Queue
from corral.core.workloads import ReplicaGroup, Workload
from corral.scheduling.explaining.explanations import explain_waiting
from corral.scheduling.explaining.shortfalls import lack_of
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.planning.pool_choice import requests_of
from corral.scheduling.state.request_classes import request_key
from corral.scheduling.validate.snapshot import Snapshot

_Key = tuple[str, Hashable, Hashable, Hashable]


class EmptyCluster:
    """A planner on which nothing runs. The same question is answered once, until something changes."""

    def __init__(self, snapshot: Snapshot) -> None:
        bare = Snapshot(snapshot.now, snapshot.nodes, snapshot.queues, (), snapshot.pools)
        self._planner = PlannerState(bare)
        self._nodes = {node.name: node for node in bare.nodes}
        self._bounds = bounds_of(bare.queues)
        self._cache: dict[_Key, tuple[Reason, Lack | None] | None] = {}

    def change(self, nodes: Mapping[str, Node | None], queues: tuple[Queue, ...]) -> bool:
        """Nodes as they are now, None for one that is gone, and all queues; whether answers may differ."""
        bounds = bounds_of(queues)
        different = {name: node for name, node in nodes.items() if self._nodes.get(name) != node}
        if not different and bounds == self._bounds:
            return False
        if bounds != self._bounds:
            self._planner.set_queues(queues)
        for name, node in different.items():
            if node is None:
                self._planner.drop_node(name)
                del self._nodes[name]
            else:
                self._planner.set_node(node)
                self._nodes[name] = node
        self._bounds = bounds
        self._cache.clear()
        return True

    def add_leaf(self, queue: Queue) -> None:
        """For one question: what is known of other queues stays known."""
        self._planner.add_leaf(queue)
        self._bounds = (*self._bounds, *bounds_of((queue,)))

    def drop_leaf(self, name: str) -> None:
        """The queue leaves, and with it what was found out about work in it."""
        self._planner.drop_leaf(name)
        self._bounds = tuple(bound for bound in self._bounds if bound[0] != name)
        self._cache = {key: answer for key, answer in self._cache.items() if key[0] != name}

    def knows(self, workload: Workload, pools: Iterable[str | None] = ()) -> bool:
        """Whether `judge` answers without looking."""
        return all(_key(each) in self._cache for each in self._choices(workload, pools))

    def judge(self, workload: Workload, pools: Iterable[str | None] = ()) -> Infeasible | None:
        """Why nothing of it could ever run; also not in one of `pools`, where others would put it now."""
        for each in self._choices(workload, pools):
            key = _key(each)
            if key not in self._cache:
                self._cache[key] = self._try(each)
        first = self._cache[_key(workload)]
        if first is None or any(self._cache[_key(each)] is None for each in self._choices(workload, pools)):
            return None
        return Infeasible(workload.name, *first)

    def explain_workload(self, workload: Workload, now: int) -> Explanation:
        """What would let it run, whatever runs at the moment. It is in no line, and nothing will start it."""
        with self._alone(workload):
            explanation = explain_waiting(self._planner, self._planner.snapshot(now), workload.name)
        assert explanation is not None, "asked of work that could run"
        return replace(explanation, in_queue=None, in_pool=None, estimate=None)

    def _choices(self, workload: Workload, pools: Iterable[str | None]) -> Iterator[Workload]:
        yield workload
        own = self._planner.pool_for(workload)
        for pool in pools:
            if pool is not None and pool != own:
                yield replace(workload, pools=(pool,))

    def _try(self, workload: Workload) -> tuple[Reason, Lack | None] | None:
        with self._alone(workload):
            plan = self._planner.plan(workload.created, (Action.ALLOCATE,))
        if plan.placements:
            return None
        reason = plan.unplaced[0].reason
        return reason, self._lack(workload, reason) if reason.kind in CAPACITY else None

    def _lack(self, workload: Workload, reason: Reason) -> Lack | None:
        requests = list(requests_of(workload))
        if any(request_key(each) != request_key(requests[0]) for each in requests):
            return None
        pool = self._planner.pool_for(workload)
        nodes = [node for node in self._nodes.values() if self._planner.pool_of(node.name) == pool]
        return lack_of(requests[0], reason.asked, reason.used, nodes)

    @contextmanager
    def _alone(self, workload: Workload) -> Iterator[None]:
        self._planner.set_workload(workload)
        try:
            yield
        finally:
            self._planner.drop_workload(workload.name)


def bounds_of(queues: Iterable[Queue]) -> tuple[tuple[Hashable, ...], ...]:
    """What of the queues decides about work that is alone."""
    return tuple(
        (
            queue.name,
            queue.parent,
            queue.policy,
            tuple(
                (pool, resource, quota.guarantee, quota.limit)
                for pool, quotas in queue.quotas.items()
                for resource, quota in quotas.items()
            ),
        )
        for queue in queues
    )


def _key(workload: Workload) -> _Key:
    """Equal for workloads that get the same answer."""
    return workload.queue, workload.pools, workload.topology, tuple(map(_group_key, workload.groups))


def _group_key(group: ReplicaGroup) -> Hashable:
    requests = tuple(request_key(one.request) if one.request else None for one in group.replicas)
    return (
        group.minimum,
        request_key(group.request),
        requests if any(requests) else len(requests),
        group.preemptible,
        group.topology,
        tuple(map(_group_key, group.groups)),
    )
