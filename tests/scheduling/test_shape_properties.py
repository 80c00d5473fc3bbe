"""What always holds where work has a shape: over random racks, MIG devices and gangs that stay together."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.core.devices import Device, DeviceMode
from corral.core.mig import A100_80GB, MigInstance
from corral.core.nodes import NODE_LEVEL, Node, Pool, Topology
from corral.core.queues import Queue, Quota
from corral.core.resources import Resource
from corral.core.workloads import (
    Affinity,
    AffinityKind,
    DeviceRequest,
    Replica,
    ReplicaGroup,
    ReplicaState,
    Request,
    TopologyRequest,
    Workload,
)
from corral.scheduling.planning.planner_state import PlannerState, schedule
from corral.scheduling.state.mig_grid import mig_grid_of
from corral.scheduling.validate.snapshot import Snapshot, read_snapshot, write_snapshot
from corral.scheduling.validate.snapshot_checks import check_snapshot
from tests.scheduling.world import replicas_of, settle

DEVICE_MIB = 800
LEVELS = ("zone", "rack")
WARM_UP = 2
QUIET_WITHIN = 8
AFFINITIES: list[tuple[Affinity, ...]] = [
    (),
    (),
    (Affinity(AffinityKind.APART),),
    (Affinity(AffinityKind.APART, {"app": "x"}),),
    (Affinity(AffinityKind.APART, {"app": "y"}, "rack", "net"),),
    (Affinity(AffinityKind.TOGETHER, {"app": "x"}),),
    (
        Affinity(AffinityKind.APART, {"app": "x"}, required=False),
        Affinity(AffinityKind.TOGETHER, required=False),
    ),
]
PROFILES = [profile.name for profile in A100_80GB.profiles]
relaxed = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    """A cluster that some cycles have already filled: what runs was placed by the scheduler itself."""
    nodes = tuple(draw(node(f"n{index}")) for index in range(draw(st.integers(2, 5))))
    guarantees = draw(st.lists(st.sampled_from([0, 1000, 3000]), min_size=1, max_size=3))
    queues = tuple(
        Queue(f"q{index}", created=index, quotas={"default": {Resource.GPU_MILLI: Quota(guarantee)}})
        for index, guarantee in enumerate(guarantees)
    )
    workloads = tuple(draw(workload(f"w{index}", queues, nodes)) for index in range(draw(st.integers(1, 7))))
    pool = Pool("default", unit_gpu_milli=1, topologies=(Topology("net", LEVELS),))
    everything = Snapshot(1_000_000, nodes, queues, workloads, pools=(pool,))
    early = draw(st.integers(0, len(workloads)))
    begun = replace(everything, workloads=workloads[:early])
    for _ in range(WARM_UP):
        begun = settle(begun, schedule(begun))
    return replace(everything, workloads=(*begun.workloads, *workloads[early:]))


@st.composite
def node(draw: st.DrawFn, name: str) -> Node:
    zone, rack = draw(st.sampled_from("ab")), draw(st.sampled_from("12"))
    labels = {"zone": zone} if draw(st.integers(0, 4)) == 0 else {"zone": zone, "rack": rack}
    devices = tuple(draw(device(f"{name}g{number}")) for number in range(draw(st.integers(1, 3))))
    data = draw(st.sampled_from([(), ("a",)]))
    return Node(name, cpu_milli=16_000, memory_mib=64_000, devices=devices, labels=labels, data=data)


def device(name: str) -> st.SearchStrategy[Device]:
    cut = (MigInstance("3g.40gb", 4), MigInstance("2g.20gb", 0), MigInstance("1g.10gb", 2))
    return st.sampled_from(
        [
            Device(name, DEVICE_MIB),
            Device(name, DEVICE_MIB // 2),
            Device(name, DEVICE_MIB, geometry=A100_80GB),
            Device(name, DEVICE_MIB, mode=DeviceMode.MIG, geometry=A100_80GB),
            Device(name, DEVICE_MIB, mode=DeviceMode.MIG, geometry=A100_80GB, instances=cut),
        ]
    )


@st.composite
def workload(draw: st.DrawFn, name: str, queues: tuple[Queue, ...], nodes: tuple[Node, ...]) -> Workload:
    offered = any(each.geometry for made in nodes for each in made.devices)
    kinds = [
        st.builds(DeviceRequest, count=st.integers(1, 2)),
        st.builds(DeviceRequest, memory_mib=st.sampled_from([50, 400])),
        st.builds(DeviceRequest, count=st.integers(1, 2), fraction_milli=st.sampled_from([250, 500])),
    ]
    if offered:
        kinds.append(st.builds(DeviceRequest, profile=st.sampled_from(PROFILES)))
        kinds.append(st.builds(DeviceRequest, profile=st.sampled_from(PROFILES)))
    count = draw(st.integers(1, 4))
    wish = draw(
        st.sampled_from(
            [
                None,
                TopologyRequest("net", "rack"),
                TopologyRequest("net", "zone", "rack"),
                TopologyRequest("net", NODE_LEVEL),
                TopologyRequest("net", preferred="rack"),
            ]
        )
    )
    group = ReplicaGroup(
        "main",
        draw(st.integers(1, count)),
        Request(
            cpu_milli=draw(st.sampled_from([100, 4000])),
            devices=draw(st.one_of(kinds)),
            data=draw(st.sampled_from([(), ("a",)])),
            affinity=draw(st.sampled_from(AFFINITIES)),
        ),
        tuple(Replica(f"{name}-{index}") for index in range(count)),
        topology=wish,
    )
    return Workload(
        name,
        draw(st.sampled_from(queues)).name,
        (group,),
        priority=draw(st.integers(0, 2)),
        created=1000 + draw(st.integers(0, 3)),
        labels=draw(st.sampled_from([{}, {"app": "x"}, {"app": "y", "tier": "z"}])),
        restart_together=draw(st.booleans()),
    )


def running(snapshot: Snapshot) -> Iterator[tuple[Workload, Replica]]:
    for each in snapshot.workloads:
        for replica in replicas_of(each):
            if replica.state is ReplicaState.RUNNING:
                yield each, replica


def domain(snapshot: Snapshot, name: str | None, level: str) -> tuple[str, ...] | None:
    """The labels that make a node's domain of a level; None where it is in none."""
    found = next(each for each in snapshot.nodes if each.name == name)
    if level == NODE_LEVEL:
        return (found.name,)
    keys = LEVELS[: LEVELS.index(level) + 1]
    return tuple(found.labels[key] for key in keys) if all(key in found.labels for key in keys) else None


@relaxed
@given(clusters())
def test_no_device_is_over_committed_whatever_its_mode(snapshot: Snapshot) -> None:
    after = settle(snapshot, schedule(snapshot))
    check_snapshot(after)  # instances lie apart, and where the device has them
    devices = {each.id: each for made in after.nodes for each in made.devices}
    memory: Counter[str] = Counter()
    kinds: dict[str, set[str]] = {}
    for _, replica in running(after):
        for use in replica.devices:
            size = devices[use.device].memory_mib
            if use.profile is not None:
                grid = mig_grid_of(devices[use.device])
                assert grid is not None
                memory[use.device] += grid.share(use.profile, size)[0]
            else:
                memory[use.device] += size if use.memory_mib is None else use.memory_mib
            kinds.setdefault(use.device, set()).add("instance" if use.profile else "other")
    assert all(amount <= devices[name].memory_mib for name, amount in memory.items())
    assert all(len(found) == 1 for found in kinds.values())


@relaxed
@given(clusters())
def test_required_level_is_kept_also_by_what_moves(snapshot: Snapshot) -> None:
    for _ in range(3):
        snapshot = settle(snapshot, schedule(snapshot))
        places: dict[str, set[tuple[str, ...] | None]] = {}
        for work, replica in running(snapshot):
            wish = work.groups[0].topology
            if wish is not None and wish.required is not None:
                places.setdefault(work.name, set()).add(domain(snapshot, replica.node, wish.required))
        for domains in places.values():
            assert len(domains) == 1
            assert None not in domains


@relaxed
@given(clusters())
def test_gangs_run_whole_or_not_at_all_in_their_domain(snapshot: Snapshot) -> None:
    plan = schedule(snapshot)
    after = settle(snapshot, plan)
    # A member that moves is whole again with the others when it has started.
    moving = {(each.workload, each.replica) for each in plan.evictions if each.moves}
    count = Counter([work.name for work, _ in running(after)] + [workload for workload, _ in moving])
    for each in after.workloads:
        assert count[each.name] == 0 or count[each.name] >= (each.groups[0].minimum or 0)


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


@relaxed
@given(clusters())
def test_shapes_survive_the_journey_through_json_and_any_order(snapshot: Snapshot) -> None:
    again = read_snapshot(write_snapshot(snapshot))
    assert again == snapshot
    turned = replace(again, nodes=again.nodes[::-1], workloads=again.workloads[::-1])
    assert schedule(turned) == schedule(snapshot)


@relaxed
@given(clusters())
def test_those_who_must_be_apart_are_apart_whoever_came_first(snapshot: Snapshot) -> None:
    for _ in range(3):
        snapshot = settle(snapshot, schedule(snapshot))
        at = [(work, replica) for work, replica in running(snapshot)]
        for one, (work, replica) in enumerate(at):
            for affinity in work.groups[0].request.affinity:
                if affinity.kind is AffinityKind.TOGETHER or not affinity.required:
                    continue
                here = domain(snapshot, replica.node, affinity.level)
                for two, (other, neighbour) in enumerate(at):
                    if one == two or here is None or not meant(affinity, work, other):
                        continue
                    assert domain(snapshot, neighbour.node, affinity.level) != here


def meant(affinity: Affinity, work: Workload, other: Workload) -> bool:
    """Whether an affinity of a workload is about another one."""
    if not affinity.labels:
        return work.name == other.name
    return affinity.labels.items() <= other.labels.items()


@relaxed
@given(clusters(), st.data())
def test_engine_that_is_told_of_changes_plans_like_a_new_one(snapshot: Snapshot, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(snapshot.workloads)))
    planner = PlannerState(replace(snapshot, workloads=snapshot.workloads[:first]))
    planner.plan(snapshot.now)
    for each in snapshot.workloads[first:]:
        planner.set_workload(each)
    assert planner.plan(snapshot.now) == schedule(snapshot)
    gone = data.draw(st.sampled_from(snapshot.workloads))
    planner.drop_workload(gone.name)
    left = tuple(each for each in snapshot.workloads if each is not gone)
    assert planner.plan(snapshot.now) == schedule(replace(snapshot, workloads=left))


@relaxed
@given(st.integers(2, 4), st.booleans(), st.data())
def test_members_that_restart_together_move_together(
    members: int, together: bool, data: st.DataObject
) -> None:
    """A guarantee comes back from a gang that could go on with fewer: it ends whole, or gives some."""
    wanted = data.draw(st.integers(1, members - 1))
    nodes = tuple(
        Node(f"n{index}", cpu_milli=16_000, memory_mib=64_000, devices=(Device(f"g{index}", DEVICE_MIB),))
        for index in range(members)
    )
    queues = tuple(
        Queue(name, created=index, quotas={"default": {Resource.GPU_MILLI: Quota(guarantee)}})
        for index, (name, guarantee) in enumerate([("borrower", 0), ("owner", 1000 * members)])
    )
    gang = replace(_gang("gang", "borrower", members), restart_together=together)
    alone = Snapshot(1_000_000, nodes, queues, (gang,), pools=(Pool("default", unit_gpu_milli=1),))
    begun = settle(alone, schedule(alone))
    assert len(list(running(begun))) == members
    owners = tuple(_gang(f"own{index}", "owner", 1, created=2000 + index) for index in range(wanted))
    plan = schedule(replace(begun, workloads=(*begun.workloads, *owners)))
    gone = {each.replica for each in plan.evictions if each.workload == "gang"}
    assert len(gone) == (members if together else wanted)


def _gang(name: str, queue: str, members: int, created: int = 1000) -> Workload:
    """One GPU for each of its members; one of them is enough to go on."""
    replicas = tuple(Replica(f"{name}-{index}") for index in range(members))
    group = ReplicaGroup("main", 1, Request(cpu_milli=100, devices=DeviceRequest(count=1)), replicas)
    return Workload(name, queue, (group,), created=created)


@relaxed
@given(clusters())
def test_of_members_that_restart_together_none_goes_alone(snapshot: Snapshot) -> None:
    plan = schedule(snapshot)
    for each in snapshot.workloads:
        gone = {gone.replica for gone in plan.evictions if gone.workload == each.name}
        if each.restart_together and gone:
            assert gone == {replica.name for work, replica in running(snapshot) if work is each}
