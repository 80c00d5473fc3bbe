"""A live planner counts what arrives and leaves, and places by what it learnt."""

from corral.core.devices import Device
from corral.core.mixes import WorkClass
from corral.core.nodes import Node, Pool
from corral.core.plans import Plan
from corral.core.queues import Queue
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, Request, Workload
from corral.scheduling.live.arrivals import Arrivals, Arrived
from corral.scheduling.live.live_planner import Changes, LivePlanner, Load, MakePlan, Probe
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.validate.snapshot import Snapshot

NOW = 1000
HALF = Request(1000, 100, DeviceRequest(fraction_milli=500))
WHOLE = Request(1000, 100, DeviceRequest(1))
HALVES = WorkClass(1000, 100, 1, 500)
WHOLES = WorkClass(1000, 100, 1, 1000)


def node(name: str, cpu_milli: int = 64_000, **labels: str) -> Node:
    devices = tuple(Device(f"{name}g{number}", 100) for number in range(2))
    return Node(name, cpu_milli, 64_000, devices=devices, labels=labels)


def work(name: str, request: Request, replicas: int = 1, pools: tuple[str, ...] = ()) -> Workload:
    members = tuple(Replica(f"{name}-{number}") for number in range(replicas))
    return Workload(name, "all", (ReplicaGroup("main", replicas, request, members),), pools=pools)


def counted(engine: PlannerState, pool: str = "default") -> tuple[dict[WorkClass, int], int, int]:
    mix = engine.snapshot(NOW).mix[pool]
    return {each.work: each.count for each in mix.counts}, mix.arrivals, mix.departures


def engine_of(planner: LivePlanner) -> PlannerState:
    return planner._planner_state()


def test_every_replica_that_comes_counts_once_and_a_question_does_not() -> None:
    planner = LivePlanner()
    planner.answer(Load(Snapshot(NOW, (node("a"),), (Queue("all"),), ())))
    planner.answer(Changes((work("one", HALF, 2), work("two", WHOLE, 2))))
    planner.answer(Changes((work("one", HALF, 2),)))
    planner.answer(Probe(NOW, work("asked", WHOLE, 7)))
    assert counted(engine_of(planner)) == ({HALVES: 2000, WHOLES: 2000}, 4, 0)


def test_what_arrived_before_a_start_counts_as_if_it_had_been_seen() -> None:
    before = (Arrived(HALF, 3, over=2), Arrived(WHOLE, 1))
    engine = PlannerState(Snapshot(NOW, (node("a"),), (Queue("all"),), ()))
    arrivals = Arrivals(engine, before)
    assert counted(engine) == ({HALVES: 3000, WHOLES: 1000}, 4, 2000)
    last = work("last", WHOLE, 4)
    engine.set_workload(last)
    arrivals.change([last], [])
    assert counted(engine)[1] == 8


def test_each_pool_counts_what_is_wanted_in_it_and_a_pool_that_is_gone_nothing() -> None:
    pools = (Pool("small", {"size": "s"}), Pool("large", {"size": "l"}))
    nodes = (node("a", 1000, size="s"), node("b", 64_000, size="l"))
    engine = PlannerState(Snapshot(NOW, nodes, (Queue("all"),), (), pools))
    large = Request(9000, 100, DeviceRequest(1))
    Arrivals(engine, [Arrived(HALF, 1), Arrived(large, 2), Arrived(WHOLE, 5, pools=("gone",))])
    assert counted(engine, "small")[1] == 1
    assert counted(engine, "large")[1] == 2


def test_room_is_left_for_what_usually_arrives() -> None:
    """Work without GPUs goes where no GPU needs the CPU: that is learnt, not said."""
    needy = Request(4000, 100, DeviceRequest(1))
    nodes = (node("a", 8000), node("b", 64_000))
    idle = Snapshot(NOW, nodes, (Queue("all"),), (work("plain", Request(1000, 100)),))
    places = []
    for arrived in ((), (Arrived(needy, 20),)):
        planner = LivePlanner()
        planner.answer(Load(idle, arrived))
        plan = planner.answer(MakePlan(NOW))
        assert isinstance(plan, Plan)
        places += [each.node for each in plan.placements]
    assert places == ["a", "b"]
