"""Moves on the board that no scenario shows by itself."""

from corral.core.devices import Device
from corral.core.nodes import Node
from corral.core.queues import Queue
from corral.core.resources import Amount
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, Request, Workload
from corral.scheduling.state.board import Board
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.request_classes import RequestClass
from corral.scheduling.state.slots import Phase, Slot, Spot
from corral.scheduling.state.workload_state import WorkState

QUEUE = QueueState(Queue("all"), "default", None)
ASKED = Request(devices=DeviceRequest())


def slot(name: str) -> Slot:
    work = WorkState(Workload(name, "all", (ReplicaGroup("main", 1, ASKED, (Replica("0"),)),)), QUEUE)
    made = Slot(name, work.groups[0], 0, RequestClass(0, ASKED, [Device("d", 100)]))
    work.slots.append(made)
    work.groups[0].slots.append(made)
    return made


def on(device: int) -> Spot:
    return Spot(0, ((device, 100, 100),), Amount(1000))


def board(*models: str) -> Board:
    devices = tuple(Device(f"g{index}", 100, model) for index, model in enumerate(models))
    return Board([Node("n0", 1000, 1000, devices=devices)])


def test_a_promise_gives_way_to_who_can_stay_and_gets_another_device_of_the_node() -> None:
    made, stays, comes = board("a", "a"), slot("stays"), slot("comes")
    made.adopt(stays, on(0), Phase.RUNNING)
    made.take(stays)
    made.give(comes, on(0), Phase.PROMISED)
    assert made.swap_promised_devices(stays, [1])
    made.keep(stays)
    assert (stays.spot, comes.spot) == (on(0), on(1))
    made.undo(0)
    assert (stays.spot, comes.spot) == (on(0), None)


def test_slices_that_were_promised_a_device_give_way_together() -> None:
    made, stays, half, quarter = board("a", "a"), slot("stays"), slot("half"), slot("quarter")
    made.adopt(stays, on(0), Phase.RUNNING)
    made.take(stays)
    made.give(half, Spot(0, ((0, 50, 50),), Amount(500)), Phase.PROMISED)
    made.give(quarter, Spot(0, ((0, 25, 25),), Amount(250)), Phase.PROMISED)
    assert made.swap_promised_devices(stays, [1])
    made.keep(stays)
    assert (half.spot, quarter.spot) == (
        Spot(0, ((1, 50, 50),), Amount(500)),
        Spot(0, ((1, 25, 25),), Amount(250)),
    )


def test_a_promise_stays_where_the_devices_of_the_node_differ() -> None:
    made, stays, comes = board("a", "b"), slot("stays"), slot("comes")
    made.adopt(stays, on(0), Phase.RUNNING)
    made.take(stays)
    made.give(comes, on(0), Phase.PROMISED)
    assert not made.swap_promised_devices(stays, [1])
    assert comes.spot == on(0)


def test_nothing_is_changed_where_it_would_not_let_it_stay() -> None:
    made, stays, comes = board("a", "a"), slot("stays"), slot("comes")
    made.adopt(stays, on(0), Phase.RUNNING)
    made.take(stays)
    made.give(comes, on(0), Phase.PROMISED)
    assert not made.swap_promised_devices(stays, [])
    assert comes.spot == on(0)
