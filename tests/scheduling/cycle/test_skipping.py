"""Who is known to fail is passed over, what cannot make room is not tried, and no decision changes."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.core.devices import Device
from corral.core.nodes import Arrangement, Node, Pool
from corral.core.plans import Action, Plan
from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.resources import Resource
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, Request, Workload
from corral.scheduling.actions import allocate, consolidate, preempt, reclaim, takers
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.ordering.queue_order import order_of
from corral.scheduling.planning.planner_state import PlannerState, schedule
from corral.scheduling.state.workload_state import WorkState
from corral.scheduling.validate.snapshot import Snapshot
from tests.scheduling import reference
from tests.scheduling.world import settle

GPUS = 4
NOW = 1_000_000
ROUNDS = 3


@st.composite
def crowds(draw: st.DrawFn) -> Snapshot:
    """Queues, with levels or without, in which many wait that ask for a few different things."""
    nodes = tuple(
        Node(f"n{index}", 64_000, 64_000, devices=tuple(Device(f"n{index}g{i}", 100) for i in range(GPUS)))
        for index in range(draw(st.integers(1, 4)))
    )
    above = draw(st.sampled_from([(None,), (None, "p0"), ("p0", "p1"), ("p0", "p1", "p2")]))
    leaves = tuple(
        Queue(
            f"q{index}",
            draw(st.sampled_from(above)),
            created=index,
            typical_runtime_seconds=draw(st.sampled_from([None, 30, 500])),
            priority=draw(st.integers(0, 1)),
            policy=draw(st.sampled_from([QueuePolicy.ELASTIC, QueuePolicy.ELASTIC, QueuePolicy.FIXED])),
            quotas={
                "default": {
                    Resource.GPU_MILLI: Quota(
                        draw(st.sampled_from([0, 1000, 2000, 4000])), draw(st.sampled_from([-1, 4000, 9000]))
                    )
                }
            },
        )
        for index in range(draw(st.integers(1, 4)))
    )
    parents = {"p0": None, "p1": draw(st.sampled_from([None, "p0"])), "p2": "p1"}
    used = {name for name in above if name is not None}
    used |= {parents[name] for name in used} - {None}
    queues = (*(_parent(draw, name, above) for name, above in parents.items() if name in used), *leaves)
    shapes = draw(st.lists(_shapes(), min_size=1, max_size=4))
    names = [queue.name for queue in leaves]
    early = _many(draw, "early", names, shapes, draw(st.integers(0, 6)))
    late = _many(draw, "late", names, shapes, draw(st.integers(2, 16)))
    begun = Snapshot(
        NOW - 50, nodes, queues, early, pools=(Pool("default", arrangement=Arrangement.SPREADING),)
    )
    begun = settle(begun, schedule(begun, actions=[Action.ALLOCATE]))
    pool = Pool(
        "default",
        reservations=draw(st.integers(0, 2)),
        priority_across_queues=draw(st.sampled_from([False, False, True])),
    )
    return replace(begun, now=NOW, workloads=(*begun.workloads, *late), pools=(pool,))


def _parent(draw: st.DrawFn, name: str, above: str | None) -> Queue:
    quota = Quota(draw(st.sampled_from([0, 2000, 6000])), draw(st.sampled_from([-1, -1, 6000])))
    return Queue(
        name, above, priority=draw(st.integers(0, 1)), quotas={"default": {Resource.GPU_MILLI: quota}}
    )


Shape = tuple[int, int, int, bool]


def _shapes() -> st.SearchStrategy[Shape]:
    """GPUs of a replica, replicas, how many of them it can do without, and whether it may be taken."""
    return st.tuples(st.integers(0, GPUS), st.integers(1, 3), st.sampled_from([0, 0, 0, 1]), st.booleans())


def _many(
    draw: st.DrawFn, name: str, queues: list[str], shapes: list[Shape], count: int
) -> tuple[Workload, ...]:
    return tuple(
        _one(draw, f"{name}{index}", queues, draw(st.sampled_from(shapes))) for index in range(count)
    )


def _one(draw: st.DrawFn, name: str, queues: list[str], shape: Shape) -> Workload:
    gpus, count, spare, preemptible = shape
    replicas = tuple(Replica(f"{name}-{index}") for index in range(count))
    request = Request(1000, 100, DeviceRequest(gpus) if gpus else None)
    return Workload(
        name,
        draw(st.sampled_from(queues)),
        (ReplicaGroup("main", max(0, count - spare), request, replicas, preemptible=preemptible),),
        priority=draw(st.sampled_from([0, 0, 1])),
        created=NOW - draw(st.integers(-1, 9)),
        runtime_limit_seconds=draw(st.sampled_from([None, 60, 100, 900])),
    )


def _plans(snapshot: Snapshot) -> tuple[Plan, Plan]:
    """With reasons and without: who is passed over need not know by which rule it failed."""
    return schedule(snapshot), PlannerState(snapshot).plan(
        snapshot.now, claims=snapshot.claims, reasons=False
    )


class Everyone:
    """The plain order: everyone has its turn, and nothing is learnt from who fails."""

    def __init__(self, works: list[WorkState], *, across: bool) -> None:
        order = order_of(works, across=across)
        self.pop, self.push = order.pop, order.push

    def mark_failing(self, *_: object, **__: object) -> None:
        """Learns nothing."""

    def forget_failures(self) -> None:
        """Has nothing to forget."""

    def close(self) -> None:
        """Passed nobody."""


def _visiting_all(snapshot: Snapshot) -> tuple[Plan, Plan]:
    def nobody_is_passed(
        cycle: Cycle, action: Action = Action.ALLOCATE, *, preemptible: bool = False
    ) -> Everyone:
        takes = action is not Action.ALLOCATE
        return Everyone(
            [
                work
                for work in cycle.pending()
                if (not takes or cycle.now >= work.delay_until) and (work.preemptible or not preemptible)
            ],
            across=cycle.pool.priority_across_queues,
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allocate, "skipping_order", nobody_is_passed)
        patch.setattr(takers, "skipping_order", nobody_is_passed)
        for action in (consolidate, reclaim, preempt):
            patch.setattr(action, "search_victims", reference.search_victims)
        return _plans(snapshot)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(crowds())
def test_plans_equal_those_in_which_everyone_is_visited(snapshot: Snapshot) -> None:
    for _ in range(ROUNDS):
        plans = _plans(snapshot)
        assert plans == _visiting_all(snapshot)
        snapshot = replace(settle(snapshot, plans[0]), now=snapshot.now + 30)
