"""Holds: windows become guards at the beginning of a cycle.

Named places are kept as they are. A number of devices in a pool is put where it will fit best when the
window opens, by the same search that places work, so that it keeps no more than it needs.
"""

from collections.abc import Container, Iterable, Iterator

from corral.core.devices import DeviceUse
from corral.core.holds import HeldPlace, Hold
from corral.core.queues import Queue
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, Request, Workload
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.placing.node_scores import When
from corral.scheduling.state.guards import HoldGuard, need_of
from corral.scheduling.state.node_state import DeviceState, Shield
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.slots import Slot, Spot
from corral.scheduling.state.workload_state import Chunk, WorkState
from corral.scheduling.timing.reservations import ends_of, leaving_by, release

# (device number, MiB, compute %), and the bits of its MIG memory slices.
_Part = tuple[tuple[int, int, int], int]


def guard_holds(cycle: Cycle, holds: Iterable[Hold]) -> None:
    """Guards what holds keep in this cycle's pool, now or later."""
    for hold in sorted(holds, key=lambda hold: (hold.starts_at, hold.name)):
        if hold.ends_at is not None and hold.ends_at <= cycle.now:
            continue
        owner = cycle.tree.by_name[hold.queue] if hold.queue is not None else None
        if hold.pool == cycle.pool.name:
            cycle.guards.append(_somewhere(cycle, hold, owner))
        elif needs := list(_named(cycle, hold)):
            cycle.guards.append(
                HoldGuard(hold.starts_at, needs, _used_by_owner(cycle, hold, owner), hold, owner)
            )


def _named(cycle: Cycle, hold: Hold) -> Iterator[Shield]:
    for place in hold.places:
        number = cycle.workload_index.find_node(place.node)
        if number is not None:
            yield _need(cycle, number, place)


def _need(cycle: Cycle, number: int, place: HeldPlace) -> Shield:
    node = cycle.board.nodes[number]
    if not (place.devices or place.cpu_milli or place.memory_mib):
        parts = [_whole(device) for device in node.devices]
        totals = node.size
    else:
        numbers = {device.id: index for index, device in enumerate(node.node.devices)}
        parts = [_part(node.devices[numbers[use.device]], use) for use in place.devices]
        totals = place.cpu_milli, place.memory_mib, 0
    slices = tuple((part[0][0], part[1]) for part in parts if part[1])
    return Shield(number, totals, tuple(part[0] for part in parts), slices)


def _whole(device: DeviceState) -> _Part:
    return (device.index, device.memory_mib, 100), device.grid.full if device.grid is not None else 0


def _part(device: DeviceState, use: DeviceUse) -> _Part:
    if use.profile is not None and use.start is not None and device.grid is not None:
        share = device.grid.share(use.profile, device.memory_mib)
        return (device.index, *share), device.grid.bits(use.profile, use.start)
    if use.memory_mib is None:
        return _whole(device)
    return (device.index, use.memory_mib, use.compute_percent), 0


def _used_by_owner(cycle: Cycle, hold: Hold, owner: QueueState | None) -> list[tuple[Slot, Spot]]:
    """Inside the window its owner fills a hold: what it already uses there is not kept again."""
    nodes = {cycle.workload_index.find_node(place.node) for place in hold.places}
    return [
        (slot, slot.spot)
        for work in _holding(cycle, hold, owner, nodes)
        for slot in work.slots
        if slot.spot is not None and slot.spot.node in nodes
    ]


def _holding(
    cycle: Cycle, hold: Hold, owner: QueueState | None, nodes: Container[int | None] | None = None
) -> Iterator[WorkState]:
    """Those whom a hold is meant for of which something runs; all that do on `nodes`, or anywhere."""
    workload_index = cycle.workload_index
    if hold.workload is not None:
        work = workload_index.find(hold.workload)
        if work is not None:
            yield work
    elif owner is not None:
        for leaf in cycle.tree.leaves():
            if owner in leaf.path:
                for rest in list(workload_index.settled(leaf)):
                    if nodes is None or rest.spot.node in nodes:
                        workload_index.find(rest.workload.name)
                yield from workload_index.holding(leaf)


def _somewhere(cycle: Cycle, hold: Hold, owner: QueueState | None) -> HoldGuard:
    """So many devices that the owner does not have yet, where they will be free when the window opens."""
    owned_devices = sum(
        slot.spot.amount.gpu_milli // WHOLE_DEVICE_MILLI
        for work in _holding(cycle, hold, owner)
        for slot in work.slots
        if slot.spot is not None
    )
    chunk = _stand_in(cycle, hold, max(0, hold.devices - owned_devices))
    ends = [end for end in ends_of(cycle) if end[0] <= hold.starts_at]
    board = cycle.board
    mark = board.mark
    release(board, ends)
    for slot in chunk.slots:
        if cycle.placer.place(Chunk(chunk.work, [slot]), when=When.LATER) == 0:
            break
    spots = [slot.new for slot in chunk.slots if slot.new is not None]
    board.undo(mark)
    return HoldGuard(
        hold.starts_at,
        [need_of(spot) for spot in spots],
        leaving_by(ends, {spot.node for spot in spots}),
        hold,
        owner,
    )


def _stand_in(cycle: Cycle, hold: Hold, devices: int) -> Chunk:
    """A workload of as many one-device replicas, charged to nobody."""
    nobody = QueueState(Queue(hold.name), cycle.pool.name, None)
    replicas = tuple(Replica(f"{hold.name}-{index}") for index in range(devices))
    group = ReplicaGroup("held", 0, Request(devices=DeviceRequest()), replicas)
    work = cycle.workload_index.read(Workload(hold.name, hold.name, (group,)), nobody).work
    return Chunk(work, work.slots)
