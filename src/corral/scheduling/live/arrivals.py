"""Arrivals: the mix of each pool of a live planner, counted as work comes and goes.

Placement leaves room for what usually arrives. The planner does not learn by itself; whoever updates it
counts here, and when enough has arrived since the last time, the planner gets the new mix.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corral.core.mixes import Mix, WorkClass
from corral.core.workloads import Replica, ReplicaGroup, Request, Workload
from corral.scheduling.placing.arrival_mix import after, work_class
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.planning.pool_choice import replicas_of, requests_of


@dataclass(frozen=True, slots=True)
class Arrived:
    """So many replicas of one kind arrived before; `over` of them have ended."""

    request: Request
    replicas: int
    over: int = 0
    pools: tuple[str, ...] = ()


class Arrivals:
    """Starts with what arrived before, and counts the rest."""

    def __init__(self, planner: PlannerState, before: Iterable[Arrived] = ()) -> None:
        self.planner = planner
        self._mixes: dict[str, Mix] = {}
        came: dict[str, list[WorkClass]] = {}
        went = Counter[str]()
        for each in before:
            pool = planner.pool_for(_one(each))
            if pool is not None:
                came.setdefault(pool, []).extend([work_class(each.request)] * each.replicas)
                went[pool] += each.over
        self._count(came, went, learn=True)

    def change(self, came: Sequence[Workload], went: Sequence[Workload]) -> None:
        """`came` are new to the planner, `went` are about to leave it for good."""
        arrived: dict[str, list[WorkClass]] = {}
        for workload in came:
            pool = self.planner.pool_for(workload)
            if pool is not None:
                arrived.setdefault(pool, []).extend(map(work_class, requests_of(workload)))
        left = Counter[str]()
        for workload in went:
            pool = self.planner.pool_for(workload)
            if pool is not None:
                left[pool] += sum(1 for _ in replicas_of(workload))
        self._count(arrived, left)

    def _count(
        self, came: Mapping[str, Sequence[WorkClass]], went: Mapping[str, int], *, learn: bool = False
    ) -> None:
        for pool in sorted({*came, *went}):
            mix = self._mixes.get(pool, Mix())
            self._mixes[pool], due = after(mix, came.get(pool, ()), went.get(pool, 0))
            if due or learn:
                self._mixes[pool] = self.planner.learn(pool, self._mixes[pool])
                self.planner.set_mix(pool, self._mixes[pool])


def _one(arrived: Arrived) -> Workload:
    group = ReplicaGroup("arrived", 1, arrived.request, (Replica("arrived"),))
    return Workload("arrived", "", (group,), pools=arrived.pools)
