"""Guards: capacity that is kept for someone from a time on, and what that means for everyone else.

Work that will have left by then passes a guard as if it were not there. Other work is placed with the kept
part of each node under a shield: what is needed there, without what is still used by those who leave in time.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from corral.core.plans import Reason, ReasonKind
from corral.scheduling.board import Board, Shield
from corral.scheduling.runtimes import latest_end
from corral.scheduling.work import Chunk, Slot, Spot, WorkState


@dataclass(slots=True, eq=False)
class Guard:
    """What is kept for one workload: where and when its chunk will start, and who will have left by then."""

    work: WorkState
    chunk: Chunk
    at: int
    spots: dict[Slot, Spot]
    nodes: set[int]
    before: list[tuple[Slot, Spot]]  # who leaves those nodes in time

    @property
    def waiting(self) -> bool:
        """Whether it still needs what is kept: it may have got another place by taking one."""
        return all(slot.pending for slot in self.chunk.slots)

    def outlasted_by(self, work: WorkState, now: int) -> bool:
        """Whether `work` might still be there when this one is to start."""
        leaves = latest_end(work, now)
        return leaves is None or leaves > self.at

    def touches(self, chunk: Chunk) -> bool:
        return any(slot.new is not None and slot.new.node in self.nodes for slot in chunk.slots)

    def shields(self) -> list[Shield]:
        """What is needed of each node beyond what those who leave in time still use."""
        needed: Counter[tuple[int, int, int]] = Counter()
        for spot in self.spots.values():
            _count(needed, spot, 1)
        for slot, spot in self.before:
            if slot.spot is spot:
                _count(needed, spot, -1)
        return [_shield(node, needed) for node in sorted(self.nodes)]


def reason_of(guard: Guard, found: int, asked: int) -> Reason:
    return Reason(ReasonKind.RESERVED, found, asked, kept_for=guard.work.name, at=guard.at)


@contextmanager
def shielded(board: Board, guards: Iterable[Guard]) -> Iterator[None]:
    """The board with what the guards keep counted as used."""
    shields = [shield for guard in guards for shield in guard.shields()]
    for shield in shields:
        board.shield(shield, 1)
    yield
    for shield in shields:
        board.shield(shield, -1)


# Totals are counted under (node, -1, kind) with kinds CPU, memory, pods; devices under (node, device, kind)
# with kinds MiB, compute.
_TOTALS = -1


def _count(needed: Counter[tuple[int, int, int]], spot: Spot, sign: int) -> None:
    for kind, amount in enumerate((spot.amount.cpu_milli, spot.amount.memory_mib, 1)):
        needed[spot.node, _TOTALS, kind] += amount * sign
    for device, mib, compute in spot.devices:
        needed[spot.node, device, 0] += mib * sign
        needed[spot.node, device, 1] += compute * sign


def _shield(node: int, needed: Counter[tuple[int, int, int]]) -> Shield:
    cpu, memory, pods = (max(0, needed[node, _TOTALS, kind]) for kind in range(3))
    devices = sorted({device for number, device, _ in needed if number == node and device != _TOTALS})
    covers = [
        (device, max(0, needed[node, device, 0]), max(0, needed[node, device, 1])) for device in devices
    ]
    return Shield(node, (cpu, memory, pods), tuple(cover for cover in covers if cover[1] or cover[2]))
