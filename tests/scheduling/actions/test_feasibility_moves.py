"""Consolidating is refused by counting where nobody could go elsewhere, and never where somebody could."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.core.devices import Device, DeviceUse
from corral.core.nodes import Node
from corral.core.plans import Action, SearchResult
from corral.core.queues import Queue
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.actions import victim_search
from corral.scheduling.planning.planner_state import schedule
from corral.scheduling.validate.snapshot import Snapshot
from tests.scheduling.actions.test_victim_search import plainly

GPUS = 3
CPU = 9000


def crowd(taken: list[list[int]], asked: int, *, gang: int = 2) -> Snapshot:
    """A workload on one GPU for each CPU that is named, node by node, and a gang that wants whole nodes."""
    nodes = tuple(
        Node(f"n{index}", CPU, 9000, devices=tuple(Device(f"n{index}g{i}", 100) for i in range(GPUS)))
        for index in range(len(taken))
    )
    running = tuple(
        _one(f"w{node}-{index}", cpu, node, index)
        for node, each in enumerate(taken)
        for index, cpu in enumerate(each)
    )
    members = tuple(Replica(f"g-{index}") for index in range(gang))
    group = ReplicaGroup("main", gang, Request(asked, 0, DeviceRequest(GPUS)), members)
    return Snapshot(1000, nodes, (Queue("all"),), (*running, Workload("gang", "all", (group,), created=50)))


def _one(name: str, cpu: int, node: int, index: int) -> Workload:
    use = (DeviceUse(f"n{node}g{index}"),)
    replica = Replica(name, ReplicaState.RUNNING, f"n{node}", use)
    group = ReplicaGroup("main", 1, Request(cpu, 100, DeviceRequest(1)), (replica,))
    return Workload(name, "all", (group,), created=index, running_since=index)


def rehearsals(snapshot: Snapshot) -> tuple[SearchResult | None, int]:
    """How the search for the gang ended, and how many sets of victims were rehearsed for it."""
    count = 0
    rehearse = victim_search.rehearse

    def counted(*given: object, **named: object) -> object:
        nonlocal count
        count += 1
        return rehearse(*given, **named)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(victim_search, "rehearse", counted)
        plan = schedule(snapshot, actions=[Action.ALLOCATE, Action.CONSOLIDATE])
    ended = {each.workload: each.searches for each in plan.unplaced}
    return ended.get("gang", {}).get(Action.CONSOLIDATE), count


def test_nothing_is_rehearsed_where_nobody_finds_cpu_elsewhere() -> None:
    assert rehearsals(crowd([[4000, 4000]] * 6, 0)) == (SearchResult.IMPOSSIBLE, 0)


def test_places_for_fewer_than_have_to_move_are_not_enough() -> None:
    # One of the two on a node could go to the last one, and then nobody else.
    assert rehearsals(crowd([[4000, 4000]] * 6 + [[5000]], 0)) == (SearchResult.IMPOSSIBLE, 0)


def test_work_moves_together_where_it_finds_places() -> None:
    ended, count = rehearsals(crowd([[2000], [2000], [2000]], 0))
    assert ended is None
    assert count > 0


def test_the_only_place_elsewhere_is_found_however_late_its_turn_comes() -> None:
    # Those of the last node are youngest; of all others one alone can move, to the last node.
    ended, count = rehearsals(crowd([[4000, 4000]] * 5 + [[2000], [3000, 3000]], 0, gang=1))
    assert ended is None
    assert count == 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(st.sampled_from([0, 2000, 3000, 4000]), max_size=2), min_size=2, max_size=5),
    st.sampled_from([0, 3000, 9000]),
    st.integers(1, 2),
)
def test_counting_refuses_nothing_that_the_plain_search_finds(
    taken: list[list[int]], asked: int, gang: int
) -> None:
    snapshot = crowd(taken, asked, gang=gang)
    assert schedule(snapshot) == plainly(snapshot)
    elastic = tuple(
        replace(each, groups=(replace(each.groups[0], minimum=0),)) if index % 2 else each
        for index, each in enumerate(snapshot.workloads)
    )
    assert schedule(replace(snapshot, workloads=elastic)) == plainly(replace(snapshot, workloads=elastic))
