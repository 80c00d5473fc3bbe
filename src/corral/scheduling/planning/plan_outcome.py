"""What a cycle decided, as a plan."""

from collections.abc import Iterator
from dataclasses import replace

from corral.core.devices import DeviceUse
from corral.core.holds import Claim
from corral.core.plans import (
    CAPACITY,
    Action,
    DroppedClaim,
    Eviction,
    Placement,
    Plan,
    Promise,
    Reason,
    ReasonKind,
    Reservation,
    Unplaced,
)
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.state.slots import Phase, Slot, Spot
from corral.scheduling.state.workload_state import Chunk, WorkState
from corral.scheduling.timing.reservations import reservations as reservations_of


def plan_of(cycles: list[Cycle], claims: tuple[Claim, ...], *, reasons: bool = True) -> Plan:
    """Everything in the order of workload and replica names; without `reasons`, not why work waits."""
    placements: list[Placement] = []
    promises: list[Promise] = []
    evictions: list[Eviction] = []
    reservations: list[Reservation] = []
    unplaced: list[Unplaced] = []
    for cycle in cycles:
        moved = cycle.board.moved()
        concerned = moved | cycle.workload_index.waiting.keys() if reasons else moved
        for work in sorted(concerned, key=lambda work: work.name):
            waiting = 0
            for slot in work.slots:
                if slot in work.evicted_slots:
                    evictions.append(_eviction(cycle, slot))
                if slot.new is not None:
                    entry = work.name, slot.name, _node_name(cycle, slot.new), _uses(cycle, slot.new)
                    if slot.new_phase is Phase.PLACED:
                        placements.append(Placement(*entry))
                    else:
                        promises.append(Promise(*entry))
                elif slot.base is None and not slot.succeeded:
                    waiting += 1
            if waiting and reasons:
                unplaced.append(_unplaced(cycle, work, waiting))
        reservations.extend(_reservations(cycle))
    return Plan(
        placements=tuple(sorted(placements, key=lambda each: (each.workload, each.replica))),
        promises=tuple(sorted(promises, key=lambda each: (each.workload, each.replica))),
        reservations=tuple(sorted(reservations, key=lambda each: (each.workload, each.replica))),
        evictions=tuple(sorted(evictions, key=lambda each: (each.workload, each.replica))),
        unplaced=tuple(sorted(unplaced, key=lambda each: each.workload)),
        dropped_claims=tuple(_dropped(claims, placements, promises, reservations)),
    )


def _eviction(cycle: Cycle, slot: Slot) -> Eviction:
    assert slot.base is not None
    rule, taker = cycle.taken_for[slot]
    work = slot.group.work
    return Eviction(
        work.name,
        slot.name,
        _node_name(cycle, slot.base),
        rule,
        taker,
        moves=slot.new is not None,
        entitlement=cycle.entitlements.get(taker or "") if rule is Action.RECLAIM else None,
    )


def _unplaced(cycle: Cycle, work: WorkState, waiting: int) -> Unplaced:
    reason = _current_reason(cycle, work)
    return Unplaced(work.name, work.queue.name, waiting, reason, dict(cycle.searches.get(work, {})))


def _current_reason(cycle: Cycle, work: WorkState) -> Reason:
    """Why the next chunk does not start, as things stand at the end of the cycle."""
    chunk = work.chunk()
    if chunk is None:
        return Reason(ReasonKind.MEMBERS_LEAVING, 0, sum(slot.pending for slot in work.slots))
    mark = cycle.board.mark
    reason = cycle.place(chunk)
    if reason is None:
        cycle.board.undo(mark)
        return Reason(ReasonKind.NOT_TRIED, len(chunk.slots), len(chunk.slots))
    if reason.kind not in CAPACITY:
        return reason
    # Which check stops the next one, beside those that would have found a place.
    found = reason.used if reason.kind is ReasonKind.NO_ROOM else 0
    cycle.placer.place(Chunk(work, chunk.slots[:found]))
    failed = cycle.placer.failed_checks(chunk.slots[found])
    cycle.board.undo(mark)
    return replace(reason, failed_checks=failed)


def _reservations(cycle: Cycle) -> Iterator[Reservation]:
    for guard in reservations_of(cycle):
        for slot, spot in guard.spots.items():
            place = _node_name(cycle, spot)
            yield Reservation(guard.chunk.work.name, slot.name, place, guard.at, _uses(cycle, spot))


def _dropped(
    claims: tuple[Claim, ...], placed: list[Placement], promised: list[Promise], reserved: list[Reservation]
) -> Iterator[DroppedClaim]:
    renewed = {(each.workload, each.replica, each.node) for each in promised}
    times = {(each.workload, each.replica): each for each in reserved}
    elsewhere = {(each.workload, each.replica): each.node for each in promised}
    started = {(each.workload, each.replica): each.node for each in placed}
    for claim in claims:
        replica = claim.workload, claim.replica
        if claim.at is None and (*replica, claim.node) in renewed:
            continue
        if replica in started:
            reason = f"started on {started[replica]}"
        elif replica in elsewhere:
            reason = f"promised on {elsewhere[replica]} instead"
        elif replica in times:
            again = times[replica]
            if (claim.node, claim.at) == (again.node, again.at):
                continue
            reason = f"reserved on {again.node} from {again.at} instead"
        else:
            reason = "no longer first in the order for it"
        yield DroppedClaim(claim.workload, claim.replica, claim.node, reason)


def _node_name(cycle: Cycle, spot: Spot) -> str:
    return cycle.board.nodes[spot.node].node.name


def _uses(cycle: Cycle, spot: Spot) -> tuple[DeviceUse, ...]:
    devices = cycle.board.nodes[spot.node].node.devices
    if spot.mig_allocations:
        return tuple(
            DeviceUse(devices[index].id, mib, compute, mig_allocation.profile, mig_allocation.start)
            for (index, mib, compute), mig_allocation in zip(spot.devices, spot.mig_allocations, strict=True)
        )
    return tuple(
        [
            DeviceUse(devices[index].id)
            if mib == devices[index].memory_mib and compute == 100
            else DeviceUse(devices[index].id, mib, compute)
            for index, mib, compute in spot.devices
        ]
    )
