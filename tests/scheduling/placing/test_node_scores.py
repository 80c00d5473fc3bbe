"""Nodes that are scored one by one and all at once get the same scores."""

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from corral.core.devices import Device
from corral.core.mixes import ONE_ARRIVAL, ClassCount, Mix
from corral.core.nodes import Node
from corral.core.queues import Queue
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, Request, Workload
from corral.scheduling.placing import node_scores
from corral.scheduling.placing.arrival_mix import work_class
from corral.scheduling.planning.planner_state import PlannerState, schedule
from corral.scheduling.validate.snapshot import Snapshot
from tests.scheduling.scenario import load_scenarios
from tests.scheduling.test_properties import clusters
from tests.scheduling.world import settle


def with_mix(snapshot: Snapshot) -> Snapshot:
    """The snapshot in a pool that has seen work like its own before."""
    classes = {work_class(group.request) for each in snapshot.workloads for group in each.groups}
    counts = tuple(sorted(ClassCount(work, ONE_ARRIVAL) for work in classes))
    pools = {pool.name: Mix(counts, len(counts)) for pool in snapshot.pools}
    return Snapshot(
        snapshot.now, snapshot.nodes, snapshot.queues, snapshot.workloads, snapshot.pools, mix=pools
    )


def test_scenarios_have_the_same_plans_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [(each, schedule(each.snapshot, each.config, each.actions)) for each in load_scenarios()]
    monkeypatch.setattr(node_scores, "_FEW", -1)
    for scenario, plan in told:
        assert schedule(scenario.snapshot, scenario.config, scenario.actions) == plan, scenario.name


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(clusters())
def test_clusters_fill_alike_either_way(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot) -> None:
    for seen in (snapshot, with_mix(snapshot)):
        one_by_one = schedule(seen)
        with monkeypatch.context() as patch:
            patch.setattr(node_scores, "_FEW", -1)
            assert schedule(seen) == one_by_one
        again = settle(seen, one_by_one)
        next_plan = schedule(again)
        with monkeypatch.context() as patch:
            patch.setattr(node_scores, "_FEW", -1)
            assert schedule(again) == next_plan


def test_scores_that_were_kept_equal_fresh_ones() -> None:
    drawn = random.Random(7)
    nodes = tuple(
        Node(f"n{index}", 64_000, 64_000, devices=tuple(Device(f"g{i}", 100) for i in range(4 + index % 2)))
        for index in range(12)
    )
    works = [
        Workload(
            f"w{number:02}",
            "all",
            (ReplicaGroup("main", request=_request(drawn), replicas=(Replica("0"),)),),
            created=number,
        )
        for number in range(24)
    ]
    planner = PlannerState(Snapshot(1000, nodes, (Queue("all"),), tuple(works)))
    with planner.cycles_after(1000) as (cycle,):
        for each in cycle.placer._scores.values():
            kept = each._current().copy()
            each._score(np.arange(len(nodes)))
            assert (each._array == kept).all()


def _request(drawn: random.Random) -> Request:
    fraction = drawn.choice((None, 200, 600, 700))
    return Request(1000, 1000, DeviceRequest(drawn.choice((1, 1, 2)), fraction_milli=fraction))
