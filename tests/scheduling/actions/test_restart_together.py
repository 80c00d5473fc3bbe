"""Members that restart together: when one moves, all leave and all have a promise."""

import pytest

from corral.scheduling.planning.planner_state import schedule
from tests.scheduling.scenario import load_scenarios

SCENARIOS = {scenario.name: scenario for scenario in load_scenarios()}


@pytest.mark.parametrize(
    ("name", "leaving"),
    [
        ("restart: other members go on while one moves", 1),
        ("restart: members that restart together all leave when one moves", 2),
        ("restart: members that restart together are left alone when all can stay", 0),
    ],
)
def test_as_many_members_leave_as_begin_again(name: str, leaving: int) -> None:
    plan = schedule(SCENARIOS[name].snapshot)
    assert sum(each.workload == "gang" for each in plan.evictions) == leaving
    assert sum(each.workload == "gang" for each in plan.promises) == leaving
