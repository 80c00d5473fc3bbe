"""What goes first of a workload with groups inside groups."""

from corral.core.plans import Action
from corral.scheduling.planning.planner_state import PlannerState
from tests.scheduling.scenario import load_scenarios

NESTED = "reclaim: replicas above the minimum of a group go before a whole group does"


def test_a_replica_above_the_minimum_of_its_group_is_taken_before_a_whole_group() -> None:
    (scenario,) = (each for each in load_scenarios() if each.name == NESTED)
    with PlannerState(scenario.snapshot).cycles_after(scenario.snapshot.now, [Action.ALLOCATE]) as (cycle,):
        job = cycle.workload_index.find("job")
        assert job is not None
        first = job.victim_chunk(set())
        assert first is not None
        assert len(first.slots) == 1
        second = job.victim_chunk(set(first.slots))
        assert second is not None
        assert len(second.slots) == 1, "the other group has one above its minimum too"
        third = job.victim_chunk({*first.slots, *second.slots})
        assert third is not None
        assert len(third.slots) == 2, "then a whole group, as one is enough"
