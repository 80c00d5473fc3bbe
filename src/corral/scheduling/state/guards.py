"""Guards: capacity that is kept for someone from a time on, and what that means for everyone else.

Work that will have left by then passes a guard as if it were not there. Other work is placed with the kept
part of each node under a shield: what is needed there, without what is still used by those who leave in time.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from corral.core.holds import Hold
from corral.core.plans import Reason, ReasonKind
from corral.scheduling.state.board import Board
from corral.scheduling.state.node_state import NodeState, Shield
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.run_times import latest_end, promised_end
from corral.scheduling.state.slots import Slot, Spot
from corral.scheduling.state.workload_state import Chunk, WorkState


@dataclass(slots=True, eq=False)
class Guard(ABC):
    """What is needed of which nodes from a time on, and who leaves those nodes before."""

    at: int
    needs: list[Shield]
    before: list[tuple[Slot, Spot]]

    @abstractmethod
    def spares(self, work: WorkState, now: int) -> bool:
        """Whether it keeps nothing from `work`."""

    def outlasted_by(self, work: WorkState, now: int, *, again: bool = False) -> bool:
        """Whether `work` might still be there at the time in question; also if it begins `again`."""
        leaves = latest_end(work, now, again=again)
        return leaves is None or leaves > self.at

    @abstractmethod
    def reason(self, found: int, requested: int) -> Reason:
        """Why work that it keeps away waits."""

    def touches(self, chunk: Chunk) -> bool:
        nodes = {need.node for need in self.needs}
        return any(slot.new is not None and slot.new.node in nodes for slot in chunk.slots)

    def shields(self) -> list[Shield]:
        """What is needed of each node beyond what those who leave in time still use."""
        needed: Counter[tuple[int, int, int]] = Counter()
        for need in self.needs:
            _count(needed, need, 1)
        for slot, spot in self.before:
            if slot.spot is spot:
                _count(needed, need_of(spot), -1)
        return [
            _shield(node, needed, [need for need in self.needs if need.node == node])
            for node in sorted({need.node for need in self.needs})
        ]


@dataclass(slots=True, eq=False)
class ReservationGuard(Guard):
    """What is kept for a workload that waits: the places of its next chunk."""

    chunk: Chunk
    spots: dict[Slot, Spot]

    def spares(self, work: WorkState, now: int) -> bool:  # noqa: ARG002 - it holds at any time
        return work is self.chunk.work or not self.waiting

    @property
    def waiting(self) -> bool:
        """Whether it still needs what is kept: it may have got another place by taking one."""
        return all(slot.pending for slot in self.chunk.slots)

    def reason(self, found: int, requested: int) -> Reason:
        return Reason(ReasonKind.RESERVED, found, requested, kept_for=self.chunk.work.name, at=self.at)


@dataclass(slots=True, eq=False)
class HoldGuard(Guard):
    """What a hold keeps for a queue or a workload inside its window, or for nobody."""

    hold: Hold
    owner: QueueState | None

    def spares(self, work: WorkState, now: int) -> bool:
        return now >= self.hold.starts_at and owns(self.hold, self.owner, work)

    def is_over(self, now: int) -> bool:
        return self.hold.ends_at is not None and self.hold.ends_at <= now

    def outlasted_by(self, work: WorkState, now: int, *, again: bool = False) -> bool:
        """A window is a promise to others, so what is only typical of a queue does not suffice."""
        leaves = promised_end(work, now, again=again)
        return leaves is None or leaves > self.at

    def reason(self, found: int, requested: int) -> Reason:
        keeper = self.hold.workload or self.hold.queue
        return Reason(ReasonKind.HELD, found, requested, kept_for=keeper, hold=self.hold.name, at=self.at)


def owns(hold: Hold, owner: QueueState | None, work: WorkState) -> bool:
    """Whether a hold is meant for `work`."""
    if hold.workload is not None:
        return work.name == hold.workload
    return owner is not None and owner in work.queue.path


def need_of(spot: Spot) -> Shield:
    slices = tuple((mig_allocation.device, mig_allocation.bits) for mig_allocation in spot.mig_allocations)
    return Shield(spot.node, (spot.amount.cpu_milli, spot.amount.memory_mib, 1), spot.devices, slices)


@contextmanager
def shielded(board: Board, guards: Iterable[Guard]) -> Iterator[None]:
    """The board with what the guards keep, as far as it is there, counted as used."""
    applied = []
    for guard in guards:
        for shield in guard.shields():
            cut = _cut(board.nodes[shield.node], shield)
            board.shield(cut, 1)
            applied.append(cut)
    try:
        yield
    finally:
        for cut in applied:
            board.shield(cut, -1)


# Totals are counted under (node, -1, kind) with kinds CPU, memory, pods; devices under (node, device, kind)
# with kinds MiB, compute.
_TOTALS = -1


def _count(needed: Counter[tuple[int, int, int]], need: Shield, sign: int) -> None:
    for kind, amount in enumerate(need.totals):
        needed[need.node, _TOTALS, kind] += amount * sign
    for device, mib, compute in need.devices:
        needed[need.node, device, 0] += mib * sign
        needed[need.node, device, 1] += compute * sign


def _shield(node: int, needed: Counter[tuple[int, int, int]], needs: list[Shield]) -> Shield:
    cpu, memory, pods = (max(0, needed[node, _TOTALS, kind]) for kind in range(3))
    devices = sorted({device for number, device, _ in needed if number == node and device != _TOTALS})
    covers = (
        (device, max(0, needed[node, device, 0]), max(0, needed[node, device, 1])) for device in devices
    )
    bits: dict[int, int] = {}
    for need in needs:
        for device, kept in need.slices:
            bits[device] = bits.get(device, 0) | kept
    return Shield(node, (cpu, memory, pods), tuple(covers), tuple(sorted(bits.items())))


def _cut(node: NodeState, shield: Shield) -> Shield:
    """Not more than is left when what is leaving has left."""
    cpu, memory, pods = (
        max(0, min(need, node.size[kind] - node.used[kind] + node.leaving[kind] - node.promised[kind]))
        for kind, need in enumerate(shield.totals)
    )
    covers = []
    for index, mib, compute in shield.devices:
        device = node.devices[index]
        left = device.memory_mib - device.mib + device.leaving_mib - device.promised_mib
        idle = 100 - device.compute + device.leaving_compute - device.promised_compute
        cover = index, max(0, min(mib, left)), max(0, min(compute, idle))
        if cover[1] or cover[2]:
            covers.append(cover)
    slices = ((index, bits & node.devices[index].free_slices(later=True)) for index, bits in shield.slices)
    return Shield(node.index, (cpu, memory, pods), tuple(covers), tuple(slices))
