"""Placement by the room that is left for the work that usually arrives."""

from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corral.core.devices import Device
from corral.core.mixes import ClassCount, Mix, WorkClass
from corral.core.nodes import Node, Pool
from corral.core.queues import Queue
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, Request, Workload
from corral.scheduling.placing.arrival_mix import Tally, work_class
from corral.scheduling.placing.node_scores import When
from corral.scheduling.placing.placer import Placer
from corral.scheduling.state.board import Board
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.request_classes import RequestClass
from corral.scheduling.state.slots import Phase, Slot
from corral.scheduling.state.workload_state import Chunk, WorkState

REQUESTS = [
    Request(1000, 2048),
    Request(2000, 4096, DeviceRequest(fraction_milli=250)),
    Request(3500, 9000, DeviceRequest(fraction_milli=370)),
    Request(4000, 16384, DeviceRequest()),
    Request(4000, 8192, DeviceRequest(fraction_milli=600, models=("B",))),
    Request(2000, 8192, DeviceRequest(memory_mib=10000)),
    Request(2000, 8192, DeviceRequest(memory_mib=30000, compute_percent=50)),
    Request(2000, 8192, DeviceRequest(2, memory_mib=5000)),
    Request(8000, 32768, DeviceRequest(2)),
    Request(16000, 65536, DeviceRequest(4, models=("A",))),
]


def cluster(count: int = 12) -> list[Node]:
    """Nodes of two sizes; every fifth has devices of both models."""
    return [
        Node(
            f"n{index:02d}",
            cpu_milli=32000 if index % 3 == 0 else 16000,
            memory_mib=131072 if index % 4 == 0 else 65536,
            pods=30,
            devices=tuple(
                Device(f"g{number}", 24576, "B")
                if index % 2 or (index % 5 == 0 and number == 0)
                else Device(f"g{number}", 81920, "A")
                for number in range(2 if index % 2 else 4)
            ),
        )
        for index in range(count)
    ]


class World:
    """A board with work that comes and goes."""

    def __init__(self, nodes: list[Node], mix: Mix | None = None) -> None:
        self.board = Board(nodes)
        self.placer = Placer(self.board, Pool("default"), mix)
        self.queue = QueueState(Queue("all"), "default", None)
        self.kinds = {device.kind: device for node in nodes for device in node.devices}
        self.requests: dict[int, RequestClass] = {}

    def request(self, number: int) -> RequestClass:
        if number not in self.requests:
            self.requests[number] = RequestClass(number, REQUESTS[number], self.kinds.values())
        return self.requests[number]

    def slot(self, number: int) -> Slot:
        group = ReplicaGroup("main", request=REQUESTS[number], replicas=(Replica("0"),))
        work = WorkState(Workload("w", "all", (group,)), self.queue)
        return Slot("0", work.groups[0], 0, self.request(number))

    def place(self, number: int, *, when: When = When.NOW) -> Slot | None:
        slot = self.slot(number)
        placed = self.placer.place(Chunk(slot.group.work, [slot]), when=when)
        return slot if placed else None


@dataclass(frozen=True)
class Step:
    number: int
    leaves: int | None = None  # which of the running ones leaves first
    undone: bool = False
    evicts: bool = False


STEPS = st.lists(
    st.builds(
        Step,
        st.integers(0, len(REQUESTS) - 1),
        st.none() | st.integers(0, 1000),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=40,
)


def follow(world: World, steps: list[Step], *, learning: bool = True) -> Mix:
    tally = Tally()
    running: list[Slot] = []
    mix = Mix()
    for step in steps:
        if step.leaves is not None and running:
            slot = running.pop(step.leaves % len(running))
            if step.evicts:
                # It ran before this cycle and is on its way out now.
                spot = slot.new
                assert spot is not None
                world.board.take(slot)
                world.board.adopt(slot, spot, Phase.RUNNING)
                world.board.take(slot)
            else:
                world.board.take(slot)
        if tally.note(work_class(REQUESTS[step.number])) and learning:
            mix = world.placer.learn(tally.mix())
            world.placer.use(mix)
        mark = world.board.mark
        placed = world.place(step.number)
        if placed is not None and step.undone:
            world.board.undo(mark)
        elif placed is not None:
            running.append(placed)
    return mix


def spots(world: World) -> list[object]:
    """Where each request would go now, in a rehearsal, and later."""
    found: list[object] = []
    for number in range(len(REQUESTS)):
        for when in When:
            mark = world.board.mark
            slot = world.place(number, when=when)
            found.append(None if slot is None else (slot.new, slot.new_phase))
            world.board.undo(mark)
    return found


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_cached_scores_equal_those_of_a_fresh_start_from_what_was_learnt(steps: list[Step]) -> None:
    world = World(cluster())
    mix = follow(world, steps)
    kept = spots(world)
    world.placer = Placer(world.board, Pool("default"), mix)
    assert spots(world) == kept


@settings(max_examples=5, deadline=None)
@given(STEPS)
def test_among_many_nodes_those_in_the_same_state_are_scored_once_and_alike(steps: list[Step]) -> None:
    world = World(cluster(300))
    mix = follow(world, steps)
    kept = spots(world)
    world.placer = Placer(world.board, Pool("default"), mix)
    with patch("corral.scheduling.placing.fragmentation._MANY", 1 << 30):
        assert spots(world) == kept


@settings(max_examples=20, deadline=None)
@given(STEPS)
def test_with_an_empty_mix_nothing_changes(steps: list[Step]) -> None:
    plain, told = World(cluster()), World(cluster(), Mix((ClassCount(WorkClass(1000, 2048), 5000),), 5))
    follow(plain, steps, learning=False)
    follow(told, steps, learning=False)
    assert spots(plain) == spots(told)


@settings(max_examples=20, deadline=None)
@given(STEPS)
def test_a_mix_changes_where_work_goes_but_never_whether_it_fits(steps: list[Step]) -> None:
    world = World(cluster(4))
    follow(world, steps)
    with_mix = [each is None for each in spots(world)]
    world.placer = Placer(world.board, Pool("default"))
    assert [each is None for each in spots(world)] == with_mix


def node(name: str, gpus: int, cpu: int = 64000) -> Node:
    devices = tuple(Device(f"g{number}", 1000, "A") for number in range(gpus))
    return Node(name, cpu, 262144, devices=devices)


def chosen(nodes: list[Node], mix: Mix, held: dict[str, list[Request]], request: Request) -> str:
    """The node on which a request is placed, with `held` running on some."""
    world = World(nodes, mix)
    queue = world.queue
    for name, requests in held.items():
        for index, each in enumerate(requests):
            only = Request(each.cpu_milli, each.memory_mib, each.devices, nodes=(name,))
            _place(world, queue, only, 100 + index)
    slot = _place(world, queue, request, 99)
    assert slot.new is not None
    return world.board.nodes[slot.new.node].node.name


def _place(world: World, queue: QueueState, request: Request, index: int) -> Slot:
    group = ReplicaGroup("main", request=request, replicas=(Replica("0"),))
    work = WorkState(Workload("w", "all", (group,)), queue)
    slot = Slot("0", work.groups[0], 0, RequestClass(index, request, world.kinds.values()))
    assert world.placer.place(Chunk(work, [slot]))
    return slot


def test_a_slice_goes_where_it_leaves_a_gap_that_others_fill() -> None:
    mix = Mix((ClassCount(WorkClass(1000, 1024, gpus=1, gpu_milli=700), 10_000),))
    slice_ = Request(1000, 1024, DeviceRequest(fraction_milli=300))
    held = {"n0": [slice_]}
    nodes = [node("n0", 1), node("n1", 1)]
    # On n0 it would end the last place for a 700; on n1 it takes what a 700 leaves over anyway.
    assert chosen(nodes, mix, held, slice_) == "n1"
    assert chosen(nodes, Mix(), held, slice_) == "n0"


def test_work_without_gpus_stays_off_the_cpus_that_gpus_need() -> None:
    mix = Mix((ClassCount(WorkClass(4000, 1024, gpus=1, gpu_milli=1000), 10_000),))
    held = {"n1": [Request(0, 0, DeviceRequest(2))]}
    nodes = [node("n0", 2, cpu=8000), node("n1", 2, cpu=8000)]
    assert chosen(nodes, mix, held, Request(4000, 1024)) == "n1"


def test_where_work_leaves_small_work_gathers_on_nodes_in_use() -> None:
    small = ClassCount(WorkClass(1000, 1024, gpus=1, gpu_milli=1000), 10_000)
    nodes = [node("n0", 4), node("n1", 4, cpu=2200)]
    held = {"n1": [Request(0, 0, DeviceRequest())]}
    request = Request(1200, 1024, DeviceRequest())
    # On n1 more CPU is lost than GPU; where everything stays, n0 is better.
    assert chosen(nodes, Mix((small,), 10), held, request) == "n0"
    assert chosen(nodes, Mix((small,), 10, departures=10_000), held, request) == "n1"


def test_idle_comes_before_room() -> None:
    mix = Mix((ClassCount(WorkClass(1000, 1024, gpus=2, gpu_milli=1000), 10_000),))
    world = World([node("n0", 1), node("n1", 2)], mix)
    blocker = _place(world, world.queue, Request(0, 0, DeviceRequest(1), nodes=("n0",)), 50)
    spot = blocker.new
    assert spot is not None
    world.board.take(blocker)
    world.board.adopt(blocker, spot, Phase.RUNNING)
    world.board.take(blocker)
    # Whole nodes are wanted, yet n0 is still leaving and n1 is idle.
    placed = _place(world, world.queue, Request(1000, 1024, DeviceRequest()), 51)
    assert placed.new is not None
    assert (placed.new.node, placed.new_phase) == (1, Phase.PLACED)


ADMITTED = [
    Request(2000, 8192, DeviceRequest()),
    Request(14000, 8192, DeviceRequest()),
    Request(3000, 8192, DeviceRequest(fraction_milli=700)),
    Request(3000, 8192, DeviceRequest(fraction_milli=400)),
    Request(8000, 32768, DeviceRequest(4)),
    Request(6000, 16384),
]


def admitted(arrivals: list[int], *, learning: bool) -> int:
    nodes = [node(f"n{index:02d}", 4, cpu=24000 if index % 2 else 48000) for index in range(40)]
    world = World(nodes)
    requests = [RequestClass(index, request, world.kinds.values()) for index, request in enumerate(ADMITTED)]
    tally = Tally()
    milli = 0
    for number in arrivals:
        if tally.note(work_class(ADMITTED[number])) and learning:
            world.placer.use(world.placer.learn(tally.mix()))
        group = ReplicaGroup("main", request=ADMITTED[number], replicas=(Replica("0"),))
        work = WorkState(Workload("w", "all", (group,)), world.queue)
        slot = Slot("0", work.groups[0], 0, requests[number])
        if world.placer.place(Chunk(work, [slot])) and slot.new is not None:
            milli += slot.new.amount.gpu_milli
    return milli


def test_more_is_admitted_by_room_than_by_packing_on_a_cluster_that_fills_up() -> None:
    by_room = by_packing = 0
    for seed in range(5):
        drawn = np.random.default_rng(seed).choice(len(ADMITTED), 400, p=[0.15, 0.2, 0.2, 0.2, 0.1, 0.15])
        by_room += admitted(drawn.tolist(), learning=True)
        by_packing += admitted(drawn.tolist(), learning=False)
    assert by_room > 1.01 * by_packing
