"""An engine that is told of changes makes the same plans as a new one that is told everything."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.core.devices import Device
from corral.core.nodes import Node, Pool
from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.refusals import Conflict, Invalid
from corral.core.resources import Resource
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.planning.planner_state import PlannerState, schedule
from corral.scheduling.validate.snapshot import Snapshot
from tests.scheduling.scenario import Scenario, load_scenarios
from tests.scheduling.test_properties import clusters, workload
from tests.scheduling.world import replicas_of, settle

MORE_ROUNDS = 3
# Work that ends is the commonest change, and what it leaves behind is the easiest to forget.
HAPPENINGS = (
    "ends", "ends", "ends", "arrives", "arrives", "resized", "resized",
    "fails", "relabelled", "joins", "leaves", "quotas", "time",
)  # fmt: skip
SIZES = (2000, 4000, 16_000)


def tell(planner: PlannerState, before: Snapshot, after: Snapshot) -> None:
    """Tells the engine what differs: first nodes that come, then work, then nodes that go."""
    if before.queues != after.queues:
        planner.set_queues(after.queues)
    old_nodes, new_nodes = _by_name(before.nodes), _by_name(after.nodes)
    for name, node in new_nodes.items():
        if old_nodes.get(name) != node:
            planner.set_node(node)
    old, new = _by_name(before.workloads), _by_name(after.workloads)
    for name in old.keys() - new.keys():
        planner.drop_workload(name)
    for name, each in new.items():
        if old.get(name) != each:
            planner.set_workload(each)
    for name in old_nodes.keys() - new_nodes.keys():
        planner.drop_node(name)


def _by_name(items: tuple[Node, ...] | tuple[Workload, ...]) -> dict[str, Node | Workload]:
    return {item.name: item for item in items}


@pytest.mark.parametrize("scenario", load_scenarios(), ids=lambda scenario: scenario.name)
def test_engine_that_follows_a_scenario_plans_as_a_new_one(scenario: Scenario) -> None:
    snapshot = scenario.snapshot
    planner = PlannerState(snapshot, scenario.config)
    for _ in range(scenario.rounds + MORE_ROUNDS):
        plan = schedule(snapshot, scenario.config, scenario.actions)
        assert planner.plan(snapshot.now, scenario.actions, snapshot.claims) == plan
        later = replace(settle(snapshot, plan), now=snapshot.now + 1)
        tell(planner, snapshot, later)
        snapshot = later


@st.composite
def changes(draw: st.DrawFn, snapshot: Snapshot, step: int) -> Snapshot:
    """Something that happens to a cluster besides the scheduler's own doing."""
    works, nodes = snapshot.workloads, snapshot.nodes
    kind = draw(st.sampled_from(HAPPENINGS))
    if kind == "arrives":
        parents = {queue.parent for queue in snapshot.queues}
        leaves = [queue.name for queue in snapshot.queues if queue.name not in parents]
        return replace(snapshot, workloads=(*works, draw(workload(f"x{step}", leaves))))
    if kind == "ends" and works:
        gone = draw(st.sampled_from(works))
        return replace(snapshot, workloads=tuple(each for each in works if each is not gone))
    if kind == "fails" and works:
        hit = draw(st.sampled_from(works))
        left = _with_state(hit, draw(st.sampled_from([ReplicaState.RELEASING, ReplicaState.STUCK])))
        return replace(snapshot, workloads=tuple(left if each is hit else each for each in works))
    if kind == "resized":
        old = draw(st.sampled_from(nodes))
        new = replace(old, cpu_milli=draw(st.sampled_from(SIZES)), pods=draw(st.integers(1, 4)))
        return replace(snapshot, nodes=tuple(new if each is old else each for each in nodes))
    if kind == "relabelled":
        old = draw(st.sampled_from(nodes))
        new = replace(old, taints=draw(st.sampled_from([(), ("broken",)])), pods=draw(st.integers(1, 110)))
        return replace(snapshot, nodes=tuple(new if each is old else each for each in nodes))
    if kind == "joins":
        name = draw(st.sampled_from(["a", "n1x", "z"])) + str(step)
        devices = tuple(Device(f"{name}g{number}", 100) for number in range(draw(st.integers(0, 3))))
        return replace(snapshot, nodes=(*nodes, Node(name, 16_000, 64_000, devices=devices)))
    if kind == "leaves":
        used = {replica.node for each in works for replica in replicas_of(each)}
        idle = [node for node in nodes if node.name not in used]
        if idle and len(nodes) > 1:
            gone_node = draw(st.sampled_from(idle))
            return replace(snapshot, nodes=tuple(node for node in nodes if node is not gone_node))
    if kind == "quotas":
        hit_queue = draw(st.sampled_from(snapshot.queues))
        policy = draw(st.sampled_from(list(QueuePolicy)))
        changed = replace(hit_queue, policy=policy, priority=draw(st.integers(0, 2)))
        queues = tuple(changed if each is hit_queue else each for each in snapshot.queues)
        more = (Queue(f"q{step}x"),) if draw(st.booleans()) else ()
        return replace(snapshot, queues=(*queues, *more))
    return replace(snapshot, now=snapshot.now + draw(st.integers(1, 200)))


def _with_state(workload: Workload, state: ReplicaState) -> Workload:
    def turn(replica: Replica) -> Replica:
        return replace(replica, state=state) if replica.state is ReplicaState.RUNNING else replica

    groups = tuple(
        replace(
            group,
            replicas=tuple(map(turn, group.replicas)),
            groups=tuple(replace(below, replicas=tuple(map(turn, below.replicas))) for below in group.groups),
        )
        for group in workload.groups
    )
    return replace(workload, groups=groups)


@st.composite
def rivals(draw: st.DrawFn) -> Snapshot:
    """A small full cluster where every queue wants more, so that each number of a division decides."""
    nodes = tuple(
        Node(name, draw(st.sampled_from(SIZES)), 64_000, devices=tuple(Device(name + i, 100) for i in "012"))
        for name in "nm"
    )
    queues = [
        Queue("top", quotas=_quotas(5000, 1, None)),
        Queue("side", created=1, quotas=_quotas(0, 1, 4000)),
    ]
    for index in range(3):
        parent = draw(st.sampled_from(["top", None]))
        quotas = _quotas(
            draw(st.sampled_from([0, 0, 1000, 2000])),
            draw(st.integers(1, 3)),
            draw(st.sampled_from([None, 0, 3000])),
        )
        queues.append(Queue(f"q{index}", parent, created=2 + index, quotas=quotas))
    leaves = [queue.name for queue in queues[1:]]
    works = tuple(draw(_rival(f"w{index}", leaves)) for index in range(draw(st.integers(5, 8))))
    return Snapshot(1_000_000, nodes, tuple(queues), works, pools=(Pool("default"),))


def _quotas(gpu_milli: int, weight: int, cpu_milli: int | None) -> dict[str, dict[Resource, Quota]]:
    quotas = {Resource.GPU_MILLI: Quota(gpu_milli, weight=weight)}
    if cpu_milli is not None:
        quotas[Resource.CPU_MILLI] = Quota(cpu_milli, weight=weight)
    return {"default": quotas}


@st.composite
def _rival(draw: st.DrawFn, name: str, leaves: list[str]) -> Workload:
    request = Request(1000, 100, DeviceRequest(1))
    replicas = tuple(Replica(f"{name}-{index}") for index in range(draw(st.integers(1, 3))))
    group = ReplicaGroup("main", 1, request, replicas)
    return Workload(name, draw(st.sampled_from(leaves)), (group,), created=draw(st.integers(0, 3)))


@pytest.mark.parametrize("cluster", [clusters(), rivals()], ids=["any", "rivals"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_engine_that_was_told_of_every_change_plans_as_a_new_one(
    cluster: st.SearchStrategy[Snapshot], data: st.DataObject
) -> None:
    snapshot = data.draw(cluster)
    planner = PlannerState(snapshot)
    for step in range(data.draw(st.integers(3, 8))):
        plan = planner.plan(snapshot.now, claims=snapshot.claims)
        assert plan == schedule(snapshot)
        assert planner.plan(snapshot.now, claims=snapshot.claims) == plan, "a plan leaves nothing behind"
        later = data.draw(changes(settle(snapshot, plan), step))
        tell(planner, snapshot, later)
        snapshot = later
    assert planner.plan(snapshot.now, claims=snapshot.claims) == schedule(snapshot)


def test_node_that_still_holds_work_is_not_dropped() -> None:
    scenario = next(each for each in load_scenarios() if each.rounds == 1)
    snapshot = settle(scenario.snapshot, schedule(scenario.snapshot))
    used = next(replica.node for each in snapshot.workloads for replica in replicas_of(each) if replica.node)
    planner = PlannerState(snapshot)
    with pytest.raises(Conflict, match=f"still has a replica on {used}"):
        planner.drop_node(used)
    assert planner.plan(snapshot.now) == schedule(replace(snapshot, claims=()))


def test_work_on_an_unknown_node_is_refused_and_changes_nothing() -> None:
    scenario = next(each for each in load_scenarios() if each.rounds == 1)
    snapshot = settle(scenario.snapshot, schedule(scenario.snapshot))
    planner = PlannerState(snapshot)
    plan = planner.plan(snapshot.now)
    hit = next(each for each in snapshot.workloads if any(one.node for one in replicas_of(each)))
    moved = replace(
        hit,
        groups=tuple(
            replace(group, replicas=tuple(replace(each, node="elsewhere") for each in group.replicas))
            for group in hit.groups
        ),
    )
    with pytest.raises(Invalid, match="elsewhere"):
        planner.set_workload(moved)
    assert planner.plan(snapshot.now) == plan


def test_queue_without_its_work_cannot_go() -> None:
    scenario = next(each for each in load_scenarios() if each.snapshot.workloads)
    planner = PlannerState(scenario.snapshot)
    planner.set_queues(())
    with pytest.raises(Invalid, match="in the queue"):
        planner.plan(scenario.snapshot.now)
    planner.set_queues(scenario.snapshot.queues)
    assert planner.plan(scenario.snapshot.now) == schedule(scenario.snapshot)


def test_what_is_not_there_cannot_be_dropped() -> None:
    planner = PlannerState(load_scenarios()[0].snapshot)
    with pytest.raises(Conflict, match="no workload ghost"):
        planner.drop_workload("ghost")
    with pytest.raises(Conflict, match="no node ghost"):
        planner.drop_node("ghost")


def test_nodes_that_come_and_go_leave_every_scenario_as_a_new_engine_sees_it() -> None:
    for scenario in load_scenarios():
        snapshot = settle(scenario.snapshot, schedule(scenario.snapshot, scenario.config, scenario.actions))
        planner = PlannerState(snapshot, scenario.config)
        planner.plan(snapshot.now)
        first = snapshot.nodes[0]
        # Before all others, behind the first one and behind all: every number may change.
        more = tuple(replace(first, name=name) for name in ("!", f"{first.name}!", "~"))
        for nodes in ((*snapshot.nodes, *more), (*snapshot.nodes, more[1]), snapshot.nodes):
            later = replace(snapshot, nodes=nodes)
            tell(planner, planner.snapshot(snapshot.now), later)
            told = planner.plan(later.now, scenario.actions, later.claims)
            assert told == schedule(later, scenario.config, scenario.actions), scenario.name
