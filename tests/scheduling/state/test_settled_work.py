"""Work that simply runs is kept as a row; plans are the same as if all its states had been made."""

import pytest
from hypothesis import HealthCheck, given, settings

from benchmarks.victims import one_gpu_short, pinned_everywhere
from corral.core.nodes import Node
from corral.core.plans import ALL_ACTIONS, Plan
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, Request, Workload
from corral.scheduling.ordering import workload_index
from corral.scheduling.planning.planner_state import PlannerState, schedule
from corral.scheduling.validate.snapshot import Snapshot
from tests.scheduling.scenario import Scenario, load_scenarios
from tests.scheduling.test_incremental import rivals


def with_nobody_at_rest(snapshot: Snapshot, scenario: Scenario | None = None) -> Plan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workload_index, "settled_replica", lambda _: None)
        if scenario is None:
            return schedule(snapshot)
        return schedule(snapshot, scenario.config, scenario.actions)


def settled_replica(planner: PlannerState, snapshot: Snapshot) -> int:
    """How many are still at rest after a cycle."""
    (cycle,) = planner.run_actions(snapshot.now, ALL_ACTIONS)
    return sum(len(cycle.settled(leaf)) for leaf in cycle.tree.leaves())


@pytest.mark.parametrize("scenario", load_scenarios(), ids=lambda scenario: scenario.name)
def test_scenarios_are_decided_as_with_nobody_at_rest(scenario: Scenario) -> None:
    plan = schedule(scenario.snapshot, scenario.config, scenario.actions)
    assert plan == with_nobody_at_rest(scenario.snapshot, scenario)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rivals())
def test_rivals_get_the_same_as_with_nobody_at_rest(snapshot: Snapshot) -> None:
    assert schedule(snapshot) == with_nobody_at_rest(snapshot)


def test_an_answer_no_wakes_nobody() -> None:
    for snapshot in (pinned_everywhere(10), one_gpu_short(20)):
        assert settled_replica(PlannerState(snapshot), snapshot) == len(snapshot.workloads) - 1


def test_who_is_at_rest_stays_where_it_is_when_nodes_are_numbered_anew() -> None:
    snapshot = pinned_everywhere(10)
    planner = PlannerState(snapshot)
    planner.plan(snapshot.now)
    first = Node("a", 1000, 1000)
    planner.set_node(first)
    later = Snapshot(snapshot.now, (first, *snapshot.nodes), snapshot.queues, snapshot.workloads)
    assert planner.plan(snapshot.now) == schedule(later)
    freed = [each for each in snapshot.workloads if each.name.startswith("hog-0003-")]
    for each in freed:
        planner.drop_workload(each.name)
    group = ReplicaGroup("main", 1, Request(1000, 1000, DeviceRequest(8)), (Replica("one"),))
    planner.set_workload(Workload("one", "owner", (group,)))
    placed = {each.workload: each.node for each in planner.plan(snapshot.now).placements}
    assert placed == {"one": "n0003"}
