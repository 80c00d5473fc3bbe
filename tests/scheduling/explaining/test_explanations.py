"""Explanations: every kind of change is found where it helps, and said in words that are true."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from corral.core.changes import AskForLess, LowerMinimum
from corral.core.explanations import Explanation, Position
from corral.core.nodes import Pool
from corral.core.plans import ReasonKind
from corral.scheduling.explaining.explanations import explain_waiting, explain_workload
from corral.scheduling.explaining.wording import advice, details, duration, sentence
from corral.scheduling.planning.planner_state import PlannerState, schedule
from tests.scheduling.scenario import NOW, load_scenarios, read_scenario

SCENARIOS = load_scenarios()


def told(spec: str, workload: str = "job") -> Explanation:
    scenario = read_scenario("told", {"then": {}, **yaml.safe_load(spec)})
    found = explain_workload(scenario.snapshot, workload, scenario.config, scenario.actions)
    assert found is not None
    return found


def words(spec: str, workload: str = "job") -> list[str]:
    return [advice(change, NOW) for change in told(spec, workload).changes]


def test_smallest_change_of_a_kind_is_named() -> None:
    spec = "{nodes: {n0: 20}, queues: {a: }, workloads: {job: {queue: a, gpus: 1, replicas: 33}}}"
    assert "if it could start with 20 of job-main" in words(spec)
    small = "{nodes: {n0: 2}, queues: {a: }, workloads: {job: {queue: a, gpus: 1, replicas: 33}}}"
    assert "if there were 16 more nodes like n0" in words(small)


def test_another_pool_is_tried() -> None:
    scenario = read_scenario("pools", {
        "nodes": {"n0": {"gpus": 1, "labels": {"in": "one"}}, "n1": {"gpus": 2, "labels": {"in": "two"}}},
        "queues": {"a": None}, "workloads": {"job": {"queue": "a", "gpus": 2, "pools": ["one"]}}, "then": {},
    })  # fmt: skip
    pools = (Pool("one", {"in": "one"}), Pool("two", {"in": "two"}))
    found = explain_workload(replace(scenario.snapshot, pools=pools), "job")
    assert found is not None
    assert "in the pool two" in [advice(change, NOW) for change in found.changes]


def test_positions_count_from_one_in_queue_and_pool() -> None:
    spec = """
      nodes: {n0: 1}
      queues: {a: {guarantee: 1}, b: }
      workloads:
        first: {queue: a, gpus: 4, age: 5}
        job: {queue: a, gpus: 4, age: 2}
        other: {queue: b, gpus: 4, age: 9}
    """
    found = told(spec)
    assert (found.in_queue, found.in_pool.of if found.in_pool else 0) == (Position(2, 2), 3)


def test_details_count_nodes_by_the_check_that_failed() -> None:
    spec = """
      nodes: {n0: {gpus: 2, taints: [night]}, n1: {gpus: 2, cpu: 1}, n2: 1}
      queues: {a: }
      workloads: {job: {queue: a, gpus: 2, cpu: 4}}
    """
    found = told(spec)
    assert found.reason.failed_checks == {"cpu": 1, "device_count": 1, "labels": 1}
    assert "1 node: too little CPU is left" in list(details(found))


def test_missing_model_and_too_few_devices_are_different_checks() -> None:
    spec = """
      nodes: {n0: {gpus: 4, model: A100}, n1: {gpus: 1, model: H100}, n2: 0}
      queues: {a: }
      workloads: {job: {queue: a, gpus: 2, models: [H100]}}
    """
    found = told(spec)
    assert found.reason.failed_checks == {"device_count": 1, "device_kind": 2}
    said = list(details(found))
    assert "1 node: the node has fewer such devices than a replica asks for" in said
    assert "2 nodes: the node has no device of that model, size or mode" in said


def test_gang_is_told_which_check_stops_the_next_one() -> None:
    found = told("{nodes: {n0: 2, n1: 1}, queues: {a: }, workloads: {job: {queue: a, gpus: 1, replicas: 4}}}")
    assert (found.reason.used, found.reason.failed_checks) == (3, {"devices": 2})
    assert "2 nodes beside those that found a place: too few devices have room" in list(details(found))


def test_every_kind_of_reason_has_a_scenario_and_a_sentence() -> None:
    seen: dict[ReasonKind, Any] = {}
    for scenario in SCENARIOS:
        for each in schedule(scenario.snapshot, scenario.config, scenario.actions).unplaced:
            seen.setdefault(each.reason.kind, each.reason)
    assert set(seen) == set(ReasonKind)
    assert all(sentence(reason, NOW) for reason in seen.values())


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (7200, "2 h"), (90061, "1 d 1 h")]
)
def test_durations_are_said_in_two_units(seconds: int, said: str) -> None:
    assert duration(seconds) == said


def test_engine_that_tried_changes_plans_as_before() -> None:
    tried = 0
    for scenario in SCENARIOS:
        snapshot = scenario.snapshot
        planner = PlannerState(snapshot, scenario.config)
        plan = planner.plan(snapshot.now, scenario.actions, snapshot.claims)
        for each in plan.unplaced[:1]:
            found = explain_waiting(planner, snapshot, each.workload, scenario.actions)
            assert found == explain_workload(snapshot, each.workload, scenario.config, scenario.actions), (
                scenario.name
            )
            tried += found is not None and bool(found.changes)
        assert planner.plan(snapshot.now, scenario.actions, snapshot.claims) == plan, scenario.name
    assert tried > 20


def test_group_without_a_name_is_not_named() -> None:
    assert advice(AskForLess("", "devices", 4), NOW) == "if it asked for 4 GPUs per replica"
    assert advice(AskForLess("", "memory_mib", 2048), NOW) == "if it asked for 2 GiB of memory per replica"
    assert advice(LowerMinimum("", 2), NOW) == "if it could start with 2 replicas"
