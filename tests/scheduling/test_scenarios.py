"""Every scenario ends as it says, and then nothing moves any more."""

import pytest

from corral.core.plans import Eviction
from corral.scheduling.explaining.explanations import explain_workload
from corral.scheduling.explaining.start_estimates import estimate_starts
from corral.scheduling.explaining.wording import advice
from corral.scheduling.planning.planner_state import PlannerState, schedule
from corral.scheduling.validate.snapshot_checks import check_snapshot
from tests.scheduling.scenario import Scenario, load_scenarios
from tests.scheduling.world import held_devices, running, settle

QUIET_ROUNDS = 5
SCENARIOS = load_scenarios()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
def test_scenario_ends_as_it_says_and_rests(scenario: Scenario) -> None:
    snapshot = scenario.snapshot
    check_snapshot(snapshot)
    first = schedule(snapshot, scenario.config, scenario.actions)
    if scenario.evicts is not None:
        assert {each.workload: _words(each) for each in first.evictions} == scenario.evicts
    ends = {each.workload: each.searches for each in first.unplaced}
    for workload, searches in scenario.searches.items():
        assert ends[workload] == searches
    snapshot = settle(snapshot, first)
    for _ in range(scenario.rounds - 1):
        snapshot = settle(snapshot, schedule(snapshot, scenario.config, scenario.actions))
    ended = running(snapshot)
    for workload, expected in scenario.then.items():
        got = ended[workload]
        assert (len(got) if isinstance(expected, int) else got) == expected, workload
    held = held_devices(snapshot)
    for workload, uses in scenario.uses.items():
        assert held[workload] == uses, workload
    for _ in range(QUIET_ROUNDS):
        plan = schedule(snapshot, scenario.config, scenario.actions)
        assert (plan.placements, plan.evictions) == ((), ())
        snapshot = settle(snapshot, plan)
    said = {each.workload: each.reason.kind.value for each in plan.unplaced}
    for workload, reason in scenario.reasons.items():
        assert said[workload] == reason
    if scenario.reserved is not None:
        times = {each.workload: each.at - snapshot.now for each in plan.reservations}
        assert times == scenario.reserved
    kept = {each.workload: each.reason.kept_for for each in plan.unplaced}
    for workload, owner in scenario.kept_for.items():
        assert kept[workload] == owner
    planner = PlannerState(snapshot, scenario.config)
    estimates = estimate_starts(planner, snapshot.now, scenario.starts, scenario.actions)
    for workload, expected_start in scenario.starts.items():
        found = estimates[workload]
        in_seconds = None if found.starts_at is None else found.starts_at - snapshot.now
        assert (found.without if in_seconds is None else in_seconds) == expected_start
    for workload, changes in scenario.helps.items():
        told = explain_workload(snapshot, workload, scenario.config, scenario.actions)
        assert told is not None
        assert [advice(change, snapshot.now) for change in told.changes] == changes


def _words(eviction: Eviction) -> str:
    moves = ", moves" if eviction.moves else ""
    return f"{eviction.rule} for {eviction.for_workload}{moves}"
