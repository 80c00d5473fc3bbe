"""A queue that joins for a question: plans are those of a planner that always had it; no trace is left."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.core.devices import Device
from corral.core.nodes import Node
from corral.core.queues import Queue, Quota
from corral.core.resources import Resource
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, Request, Workload
from corral.scheduling.live.infeasible_work import FullCapacity
from corral.scheduling.live.live_planner import LivePlanner, Load, MakePlan, Probe, ProbeResult
from corral.scheduling.planning import planner_state
from corral.scheduling.planning.planner_state import PlannerState, schedule
from corral.scheduling.state.queue_tree import QueueTree
from corral.scheduling.validate.snapshot import Snapshot
from tests.scheduling.test_properties import clusters, workload

NAMES = ("a", "m", "zz")  # before, between and after the names of others


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_leaf_in_place_plans_as_a_planner_that_always_had_it(data: st.DataObject) -> None:
    snapshot = data.draw(clusters())
    inner = sorted({queue.parent for queue in snapshot.queues if queue.parent is not None})
    leaf = Queue(data.draw(st.sampled_from(NAMES)), data.draw(st.sampled_from([None, *inner])))
    if any(queue.name == leaf.name for queue in snapshot.queues):
        return
    asked = data.draw(workload("asked", [leaf.name]))
    planner = PlannerState(snapshot)
    before = planner.plan(snapshot.now)
    with planner.with_leaf(leaf):
        planner.set_workload(asked)
        whole = replace(
            snapshot, queues=(*snapshot.queues, leaf), workloads=(*snapshot.workloads, asked), claims=()
        )
        assert planner.plan(snapshot.now) == schedule(whole)
        planner.drop_workload("asked")
    assert planner.plan(snapshot.now) == before


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(0, 9), st.booleans())
def test_tree_with_a_leaf_added_is_the_tree_that_was_built_with_it(
    parents: list[int], name: int, at_root: bool
) -> None:
    queues = [Queue("q5")] + [
        Queue(f"q{number}{index}", "q5" if index == 0 else f"q{parents[index - 1]}{index - 1}")
        for index, number in enumerate(parents)
    ]
    leaf = Queue(f"q{name}x", None if at_root else "q5")
    added = QueueTree(queues, "all")
    added.add_leaf(leaf)
    built = QueueTree([*queues, leaf], "all")
    assert list(added.by_name) == list(built.by_name)
    assert [one.name for one in added.roots] == [one.name for one in built.roots]
    for one in built.by_name.values():
        assert [child.name for child in added.by_name[one.name].children] == [
            child.name for child in one.children
        ]
    added.drop_leaf(leaf.name)
    assert list(added.by_name) == list(QueueTree(queues, "all").by_name)


def _asked(name: str, queue: str, gpus: int) -> Workload:
    group = ReplicaGroup("main", None, Request(1000, 1024, DeviceRequest(gpus)), (Replica(f"{name}-0"),))
    return Workload(name, queue, (group,))


def test_probe_of_somebody_without_a_queue_builds_no_pool_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither in the planner nor in the empty cluster that judges what can never run."""
    devices = tuple(Device(f"g{number}", 81920) for number in range(4))
    nodes = tuple(Node(f"n{number}", 8000, 65536, devices=devices) for number in range(3))
    limit = {"default": {Resource.GPU_MILLI: Quota(limit=2000)}}
    queues = (Queue("all"), Queue("ana", "all"), Queue("tight", quotas=limit), Queue("other", "tight"))
    for full in (FullCapacity(), FullCapacity(nodes, queues)):
        planner = LivePlanner()
        planner.answer(Load(Snapshot(100, nodes, queues, ()), whole=full))
        before = planner.answer(MakePlan(100))
        infeasible = planner.answer(Probe(100, _asked("first", "new", 9), Queue("new", "all")))
        assert isinstance(infeasible, ProbeResult)
        assert infeasible.infeasible is not None
        built: list[str] = []
        real = planner_state.Cycle

        def cycle(*args: object, built: list[str] = built, real: object = real, **more: object) -> object:
            built.append("a pool")
            return real(*args, **more)  # type: ignore[operator]

        monkeypatch.setattr(planner_state, "Cycle", cycle)
        fits = planner.answer(Probe(100, _asked("mine", "new", 4), Queue("new", "all")))
        limited = planner.answer(Probe(100, _asked("mine", "new", 4), Queue("new", "tight")))
        monkeypatch.undo()
        assert isinstance(fits, ProbeResult)
        assert isinstance(limited, ProbeResult)
        assert [one.node for one in fits.placements] == ["n0"]
        assert limited.infeasible is not None, "what was found out below another parent is forgotten"
        assert built == []
        assert planner.answer(MakePlan(100)) == before
