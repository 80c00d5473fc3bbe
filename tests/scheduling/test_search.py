"""What makes the search fast changes no decision."""

import pytest
from hypothesis import HealthCheck, given, settings

from corral.scheduling import consolidate, preempt, reclaim
from corral.scheduling.engine import schedule
from corral.scheduling.snapshot import Snapshot
from tests.scheduling import reference
from tests.scheduling.scenario import Scenario, load_scenarios
from tests.scheduling.test_properties import clusters

SCENARIOS = [each for each in load_scenarios() if each.config.search_trials >= 100]


def plainly(snapshot: Snapshot, scenario: Scenario | None = None) -> object:
    with pytest.MonkeyPatch.context() as patch:
        for action in (consolidate, reclaim, preempt):
            patch.setattr(action, "take_for", reference.take_for)
        if scenario is None:
            return schedule(snapshot)
        return schedule(snapshot, scenario.config, scenario.actions)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
def test_plans_equal_those_of_the_plain_search(snapshot: Snapshot) -> None:
    assert schedule(snapshot) == plainly(snapshot)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
def test_scenarios_are_decided_as_by_the_plain_search(scenario: Scenario) -> None:
    plan = schedule(scenario.snapshot, scenario.config, scenario.actions)
    assert plan == plainly(scenario.snapshot, scenario)
