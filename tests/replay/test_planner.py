"""The planner of a replay is the scheduling engine; it may leave out why work waits, nothing else."""

from dataclasses import replace

from corral.replay.life import Life
from corral.replay.planner import make_planner
from corral.replay.policy import parse_policy
from tests.replay.test_loop import job, two_nodes


def test_plan_without_reasons_decides_the_same() -> None:
    planner = make_planner(parse_policy("elastic").cluster(two_nodes(), {"team": 4}))
    for number in range(3):
        planner.set_workload(Life(job(f"j{number}", "team", number, 100, 2), number).workload())
    told = planner.plan(10)
    assert len(told.placements) == 2
    assert [each.workload for each in told.unplaced] == ["j2"]
    assert planner.plan(10, reasons=False) == replace(told, unplaced=())
