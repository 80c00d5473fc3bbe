"""What always holds, over random clusters with nested queues, gangs, elastic work and slices."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.core.devices import Device
from corral.core.holds import HeldPlace, Hold
from corral.core.nodes import Node, Pool
from corral.core.plans import Action, Placement, Plan, ReasonKind
from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.resources import Resource
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.explaining.applied_changes import changed
from corral.scheduling.explaining.explanations import explain_workload
from corral.scheduling.explaining.start_estimates import estimate_starts
from corral.scheduling.planning.planner_state import PlannerState, schedule
from corral.scheduling.validate.snapshot import Snapshot
from tests.scheduling.world import replicas_of, settle

DEVICE_MIB = 100
FULL = 100
WARM_UP = 2
QUIET_WITHIN = 8
relaxed = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
few = settings(relaxed, max_examples=8)


@st.composite
def clusters(draw: st.DrawFn, *, crowded: bool = False) -> Snapshot:
    """A cluster that some cycles have already filled: what runs was placed by the scheduler itself.

    A crowded one is a single empty node, and much work in few queues.
    """
    nodes = tuple(
        Node(
            f"n{index}",
            cpu_milli=16_000,
            memory_mib=64_000,
            devices=tuple(
                Device(f"n{index}g{number}", DEVICE_MIB) for number in range(draw(st.integers(1, 4)))
            ),
        )
        for index in range(1 if crowded else draw(st.integers(1, 4)))
    )
    queues = draw(queue_trees(1 if crowded else 3))
    parents = {queue.parent for queue in queues}
    leaves = [queue.name for queue in queues if queue.name not in parents]
    workloads = tuple(
        draw(workload(f"w{index}", leaves)) for index in range(draw(st.integers(6 if crowded else 1, 9)))
    )
    unit = draw(st.sampled_from([1, 1000]))
    pool = Pool("default", unit_gpu_milli=unit, reservations=draw(st.sampled_from([0, 0, 1, 2])))
    holds = draw(st.lists(hold(queues), max_size=1)) if draw(st.booleans()) else []
    everything = Snapshot(1_000_000, nodes, queues, workloads, pools=(pool,), holds=tuple(holds))
    early = 0 if crowded else draw(st.integers(0, len(workloads)))
    begun = replace(everything, workloads=workloads[:early])
    for _ in range(WARM_UP):
        begun = settle(begun, schedule(begun))
    return replace(everything, workloads=(*begun.workloads, *workloads[early:]))


def hold(queues: tuple[Queue, ...]) -> st.SearchStrategy[Hold]:
    """A window on the first node or on one device anywhere, now or soon, for a queue or for nobody."""
    start = st.sampled_from([999_900, 1_000_055, 1_000_300])
    owner = st.sampled_from([None, *(queue.name for queue in queues)])
    return st.one_of(
        st.builds(Hold, st.just("window"), start, queue=owner, places=st.just((HeldPlace("n0"),))),
        st.builds(Hold, st.just("window"), start, queue=owner, pool=st.just("default"), devices=st.just(1)),
    )


@st.composite
def queue_trees(draw: st.DrawFn, most: int = 3) -> tuple[Queue, ...]:
    made: list[Queue] = []
    for index in range(draw(st.integers(1, most))):
        parent = draw(queue(f"q{index}", None, len(made)))
        made.append(parent)
        for below in range(draw(st.integers(0, 2))):
            made.append(draw(queue(f"q{index}-{below}", parent.name, len(made))))
    return tuple(made)


def queue(name: str, parent: str | None, created: int) -> st.SearchStrategy[Queue]:
    gpu = st.builds(
        Quota,
        guarantee=st.sampled_from([0, 1000, 2000, 4000]),
        limit=st.sampled_from([-1, -1, 2000, 5000]),
        weight=st.integers(0, 3),
    )
    return st.builds(
        lambda quota, priority, fixed: Queue(
            name,
            parent,
            priority,
            created,
            QueuePolicy.FIXED if fixed and parent is None else QueuePolicy.ELASTIC,
            {"default": {Resource.GPU_MILLI: quota}},
        ),
        gpu,
        st.integers(0, 2),
        st.sampled_from([False, False, False, True]),
    )


@st.composite
def workload(draw: st.DrawFn, name: str, leaves: list[str]) -> Workload:
    devices = draw(
        st.one_of(
            st.builds(DeviceRequest, count=st.integers(1, 3)),
            st.builds(DeviceRequest, fraction_milli=st.sampled_from([250, 500, 750])),
            st.builds(DeviceRequest, memory_mib=st.sampled_from([20, 60])),
            st.none(),
        )
    )
    request = Request(cpu_milli=draw(st.sampled_from([100, 4000])), memory_mib=100, devices=devices)
    count = draw(st.integers(1, 4))
    return Workload(
        name,
        draw(st.sampled_from(leaves)),
        (
            ReplicaGroup(
                "main",
                draw(st.integers(1, count)),
                request,
                tuple(Replica(f"{name}-{index}") for index in range(count)),
                preemptible=draw(st.sampled_from([True, True, False])),
            ),
        ),
        priority=draw(st.integers(0, 3)),
        created=1000 + draw(st.integers(0, 5)),
        runtime_limit_seconds=draw(st.sampled_from([None, 60, 600])),
        runtime_estimate_seconds=draw(st.sampled_from([None, None, 50])),
    )


def running(snapshot: Snapshot) -> Iterator[tuple[Workload, Replica]]:
    for each in snapshot.workloads:
        for replica in replicas_of(each):
            if replica.state is ReplicaState.RUNNING:
                yield each, replica


def milli(workload: Workload, replica: Replica) -> int:
    wanted = workload.groups[0].request.devices
    if wanted is None:
        return 0
    if wanted.memory_mib is not None:
        return wanted.memory_mib * 1000 // DEVICE_MIB
    return wanted.count * (wanted.fraction_milli or 1000)


def used_by_queue(snapshot: Snapshot, *, pinned: bool = False) -> Counter[str]:
    parents = {queue.name: queue.parent for queue in snapshot.queues}
    used: Counter[str] = Counter()
    for work, replica in running(snapshot):
        if pinned and work.groups[0].preemptible:
            continue
        name: str | None = work.queue
        while name is not None:
            used[name] += milli(work, replica)
            name = parents[name]
    return used


@relaxed
@given(clusters())
def test_no_device_node_or_limit_is_over_committed(snapshot: Snapshot) -> None:
    after = settle(snapshot, schedule(snapshot))
    cpu: Counter[str] = Counter()
    device: Counter[str] = Counter()
    for work, replica in running(after):
        assert replica.node is not None
        cpu[replica.node] += work.groups[0].request.cpu_milli
        for use in replica.devices:
            device[use.device] += FULL if use.memory_mib is None else use.memory_mib * FULL // DEVICE_MIB
    assert all(amount <= 16_000 for amount in cpu.values())
    assert all(amount <= FULL for amount in device.values())
    used = used_by_queue(after)
    pinned = used_by_queue(after, pinned=True)
    for each in after.queues:
        quota = each.quotas["default"][Resource.GPU_MILLI]
        bound = quota.guarantee if each.policy is QueuePolicy.FIXED else quota.limit
        assert bound == -1 or used[each.name] <= bound
        assert pinned[each.name] <= quota.guarantee


@relaxed
@given(clusters())
def test_fixed_guarantees_are_never_lent(snapshot: Snapshot) -> None:
    after = settle(snapshot, schedule(snapshot))
    used = used_by_queue(after)
    total = 1000 * sum(len(node.devices) for node in after.nodes)
    fixed = [each for each in after.queues if each.policy is QueuePolicy.FIXED]
    kept = sum(
        max(0, each.quotas["default"][Resource.GPU_MILLI].guarantee - used[each.name]) for each in fixed
    )
    others = [each.name for each in after.queues if each.parent is None and each not in fixed]
    before = used_by_queue(snapshot)
    all_used = sum(used[root.name] for root in after.queues if root.parent is None)
    for name in others:
        grew = used[name] > before[name]
        assert not grew or all_used + kept <= total


@relaxed
@given(clusters())
def test_gangs_run_whole_or_not_at_all(snapshot: Snapshot) -> None:
    after = settle(snapshot, schedule(snapshot))
    count = Counter(work.name for work, _ in running(after))
    for each in after.workloads:
        assert count[each.name] == 0 or count[each.name] >= (each.groups[0].minimum or 0)


@relaxed
@given(clusters())
def test_same_snapshot_gives_the_same_plan(snapshot: Snapshot) -> None:
    turned = replace(snapshot, nodes=snapshot.nodes[::-1], workloads=snapshot.workloads[::-1])
    assert schedule(snapshot) == schedule(turned)


@relaxed
@given(clusters(crowded=True))
def test_nobody_who_fits_waits_while_a_lower_one_of_the_queue_is_placed(snapshot: Snapshot) -> None:
    # Without what is kept for others: that may let short work pass and hold long work back.
    pool = replace(snapshot.pools[0], reservations=0)
    snapshot = replace(snapshot, pools=(pool,), holds=())
    plan = schedule(snapshot, actions=[Action.ALLOCATE])
    works = {each.name: each for each in snapshot.workloads}
    placed = {each.workload for each in plan.placements}
    for waiting in (works[each.workload] for each in plan.unplaced):
        for lower in sorted(placed):
            if works[lower].queue == waiting.queue and works[lower].priority < waiting.priority:
                kept = tuple(each for each in plan.placements if each.workload != lower)
                without = only_waiting(settle(snapshot, replace(plan, placements=kept)), waiting.name)
                assert schedule(without, actions=[Action.ALLOCATE]).placements == ()


def only_waiting(snapshot: Snapshot, name: str) -> Snapshot:
    """The same, if nobody else waited for anything."""

    def running_part(work: Workload) -> Workload:
        group = work.groups[0]
        left = tuple(each for each in group.replicas if each.state is ReplicaState.RUNNING)
        return replace(
            work, groups=(replace(group, minimum=min(len(left), group.minimum or 0), replicas=left),)
        )

    works = (each if each.name == name else running_part(each) for each in snapshot.workloads)
    return replace(snapshot, workloads=tuple(each for each in works if each.groups[0].replicas))


@relaxed
@given(clusters())
def test_with_nothing_arriving_the_plan_becomes_empty(snapshot: Snapshot) -> None:
    plan = schedule(snapshot)
    for _ in range(QUIET_WITHIN):
        if plan.is_empty:
            break
        snapshot = settle(snapshot, plan)
        plan = schedule(snapshot)
    assert plan.is_empty
    assert schedule(settle(snapshot, plan)) == plan


@relaxed
@given(clusters())
def test_nothing_is_lost_by_a_queue_inside_its_guarantee(snapshot: Snapshot) -> None:
    plan = schedule(snapshot, actions=[Action.ALLOCATE, Action.CONSOLIDATE, Action.RECLAIM])
    before = used_by_queue(snapshot)
    queues = {work.name: work.queue for work in snapshot.workloads}
    guarantees = {each.name: each.quotas["default"][Resource.GPU_MILLI].guarantee for each in snapshot.queues}
    for eviction in plan.evictions:
        if not eviction.moves:
            leaf = queues[eviction.workload]
            grown = sum(placed_milli(snapshot, plan, name) for name in queues if queues[name] == leaf)
            assert before[leaf] + grown > guarantees[leaf]


def placed_milli(snapshot: Snapshot, plan: Plan, name: str) -> int:
    work = next(each for each in snapshot.workloads if each.name == name)
    entries = [*plan.placements, *plan.promises]
    return sum(milli(work, replicas_of(work)[0]) for each in entries if each.workload == name)


@relaxed
@given(clusters())
def test_every_workload_that_waits_has_a_reason(snapshot: Snapshot) -> None:
    plan = schedule(snapshot)
    placed = {each.replica for each in (*plan.placements, *plan.promises)}
    reasons = {each.workload: each for each in plan.unplaced}
    for each in snapshot.workloads:
        waiting = [
            replica.name
            for replica in replicas_of(each)
            if replica.state is ReplicaState.PENDING and replica.name not in placed
        ]
        assert (each.name in reasons) == bool(waiting)
        if waiting:
            assert reasons[each.name].waiting == len(waiting)


@relaxed
@given(clusters())
def test_every_reason_is_true(snapshot: Snapshot) -> None:
    plan = schedule(snapshot)
    after = planned(snapshot, plan)
    used, pinned = used_by_queue(after), used_by_queue(after, pinned=True)
    quotas = {each.name: each.quotas["default"][Resource.GPU_MILLI] for each in after.queues}
    for each in plan.unplaced:
        reason = each.reason
        if reason.kind is ReasonKind.LIMIT:
            assert reason.queue is not None
            assert reason.used == used[reason.queue]
            assert reason.used + reason.asked > reason.bound
            assert reason.bound in (quotas[reason.queue].limit, quotas[reason.queue].guarantee)
        elif reason.kind is ReasonKind.OVER_GUARANTEE:
            assert reason.queue is not None
            assert (reason.used, reason.bound) == (pinned[reason.queue], quotas[reason.queue].guarantee)
            assert reason.used + reason.asked > reason.bound
        elif reason.kind is ReasonKind.KEPT_BY_FIXED_QUEUES:
            assert reason.used == sum(used[root.name] for root in after.queues if root.parent is None)
            assert reason.used + reason.asked > reason.bound
        elif reason.kind is ReasonKind.NO_ROOM:
            assert reason.used < reason.asked
            assert sum(reason.failed_checks.values()) == len(after.nodes)
            if reason.used == 0:
                work = next(work for work in after.workloads if work.name == each.workload)
                assert not any(has_room(after, node, work.groups[0].request) for node in after.nodes)
        elif reason.kind is ReasonKind.RESERVED:
            kept = [reserved for reserved in plan.reservations if reserved.workload == reason.kept_for]
            assert {reserved.at for reserved in kept} == {reason.at}


@few
@given(clusters())
def test_every_change_that_is_suggested_helps(snapshot: Snapshot) -> None:
    plan = schedule(snapshot)
    for each in plan.unplaced:
        told = explain_workload(snapshot, each.workload)
        assert told is not None
        assert told.reason == each.reason
        for change in told.changes:
            other = schedule(changed(snapshot, each.workload, change))
            assert starting(other, each.workload) > starting(plan, each.workload)


def starting(plan: Plan, workload: str) -> int:
    return sum(each.workload == workload for each in [*plan.placements, *plan.promises])


def planned(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """As it will be when the plan is carried out and promises are kept."""
    promised = tuple(
        Placement(each.workload, each.replica, each.node, each.devices) for each in plan.promises
    )
    kept = replace(plan, placements=plan.placements + promised)
    # What moves leaves one place and gets another.
    gone = replace(kept, placements=())
    return settle(settle(snapshot, gone), replace(kept, evictions=()))


def has_room(snapshot: Snapshot, node: Node, request: Request) -> bool:
    """Whether one more replica would fit on a node, counted anew from what runs there."""
    cpu = memory = pods = 0
    held: Counter[str] = Counter()
    for work, replica in running(snapshot):
        if replica.node == node.name:
            cpu += work.groups[0].request.cpu_milli
            memory += work.groups[0].request.memory_mib
            pods += 1
            for use in replica.devices:
                held[use.device] += DEVICE_MIB if use.memory_mib is None else use.memory_mib
    if pods + 1 > node.pods or cpu + request.cpu_milli > node.cpu_milli:
        return False
    if memory + request.memory_mib > node.memory_mib:
        return False
    wanted = request.devices
    if wanted is None:
        return True
    mib = wanted.memory_mib or DEVICE_MIB * (wanted.fraction_milli or 1000) // 1000
    return sum(held[device.id] + mib <= DEVICE_MIB for device in node.devices) >= wanted.count


@relaxed
@given(clusters())
def test_plan_applied_twice_changes_nothing(snapshot: Snapshot) -> None:
    plan = schedule(snapshot)
    once = settle(snapshot, plan)
    assert settle(once, plan) == once


@relaxed
@given(clusters())
def test_reservation_is_not_pushed_back_by_what_starts(snapshot: Snapshot) -> None:
    # Of several, one may come after another in the next cycle when the order of their queues has changed.
    snapshot = replace(snapshot, pools=(replace(snapshot.pools[0], reservations=1),))
    plan = schedule(snapshot)
    times = {each.workload: each.at for each in plan.reservations}
    for each in schedule(settle(snapshot, plan)).reservations:
        assert each.at <= times.get(each.workload, each.at)


@relaxed
@given(clusters())
def test_estimates_leave_no_trace(snapshot: Snapshot) -> None:
    planner = PlannerState(snapshot)
    plan = planner.plan(snapshot.now)
    names = [each.workload for each in plan.unplaced]
    estimates = estimate_starts(planner, snapshot.now, names)
    assert all(each.starts_at is None or each.starts_at >= snapshot.now for each in estimates.values())
    assert estimate_starts(planner, snapshot.now, names) == estimates
    assert planner.plan(snapshot.now) == plan
