"""What makes the search fast changes no decision."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.core.devices import Device
from corral.core.nodes import Arrangement, Node, Pool
from corral.core.plans import Action
from corral.core.queues import Queue, Quota
from corral.core.resources import Resource
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, Request, Workload
from corral.scheduling.actions import consolidate, preempt, reclaim
from corral.scheduling.planning.planner_state import schedule
from corral.scheduling.validate.snapshot import Snapshot
from tests.scheduling import reference
from tests.scheduling.scenario import Scenario, load_scenarios
from tests.scheduling.test_properties import clusters
from tests.scheduling.world import settle

GPUS = 4


@st.composite
def contests(draw: st.DrawFn) -> Snapshot:
    """Gangs strewn over the nodes, and owners who come late, ask for much, and often for the same."""
    nodes = tuple(
        Node(f"n{index}", 64_000, 64_000, devices=tuple(Device(f"n{index}g{i}", 100) for i in range(GPUS)))
        for index in range(draw(st.integers(2, 5)))
    )
    guarantees = st.sampled_from([0, 0, 2000, 4000, 8000])
    queues = [Queue("top", quotas=_quota(-1))]
    for index in range(4):
        parent = draw(st.sampled_from(["top", "top", None]))
        queues.append(Queue(f"q{index}", parent, created=index, quotas=_quota(draw(guarantees))))
    leaves = [queue.name for queue in queues[1:]]
    early = [draw(_gang(f"early{index}", leaves, GPUS)) for index in range(draw(st.integers(4, 8)))]
    late = [
        replace(gang, name=f"{gang.name}{copy}", created=10 + copy, groups=_named(gang.groups, f"{copy}"))
        for gang in (draw(_gang(f"late{index}-", leaves, GPUS)) for index in range(draw(st.integers(1, 4))))
        for copy in range(draw(st.integers(1, 3)))
    ]
    pool = Pool("default", arrangement=Arrangement.SPREADING)
    begun = Snapshot(1_000_000, nodes, tuple(queues), tuple(early), pools=(pool,))
    begun = settle(begun, schedule(begun, actions=[Action.ALLOCATE]))
    return replace(begun, workloads=(*begun.workloads, *late), pools=(Pool("default"),))


def _named(groups: tuple[ReplicaGroup, ...], copy: str) -> tuple[ReplicaGroup, ...]:
    return tuple(
        replace(group, replicas=tuple(replace(each, name=f"{each.name}.{copy}") for each in group.replicas))
        for group in groups
    )


@st.composite
def _gang(draw: st.DrawFn, name: str, leaves: list[str], gpus: int) -> Workload:
    count = draw(st.integers(1, 4))
    request = Request(1000, 100, DeviceRequest(draw(st.integers(1, gpus))))
    replicas = tuple(Replica(f"{name}-{index}") for index in range(count))
    minimum = draw(st.sampled_from([count, count, 1]))
    return Workload(
        name,
        draw(st.sampled_from(leaves)),
        (ReplicaGroup("main", minimum, request, replicas),),
        priority=draw(st.integers(0, 2)),
        created=draw(st.integers(0, 3)),
    )


def _quota(gpu_milli: int) -> dict[str, dict[Resource, Quota]]:
    return {"default": {Resource.GPU_MILLI: Quota(gpu_milli)}}


SCENARIOS = [each for each in load_scenarios() if each.config.search_trials >= 100]


def plainly(snapshot: Snapshot, scenario: Scenario | None = None) -> object:
    with pytest.MonkeyPatch.context() as patch:
        for action in (consolidate, reclaim, preempt):
            patch.setattr(action, "search_victims", reference.search_victims)
        if scenario is None:
            return schedule(snapshot)
        return schedule(snapshot, scenario.config, scenario.actions)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(clusters(), contests()))
def test_plans_equal_those_of_the_plain_search(snapshot: Snapshot) -> None:
    assert schedule(snapshot) == plainly(snapshot)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
def test_scenarios_are_decided_as_by_the_plain_search(scenario: Scenario) -> None:
    plan = schedule(scenario.snapshot, scenario.config, scenario.actions)
    assert plan == plainly(scenario.snapshot, scenario)
