"""Feasibility of consolidating beside guarded capacity.

Nobody loses anything, so every device that the taker gets must be free before and open to it; only a victim
that may use guarded capacity could go where the taker may not. Counted for whole devices.
"""

from collections.abc import Sequence

from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.state.guards import shielded
from corral.scheduling.state.queue_tree import GPU
from corral.scheduling.state.slots import Slot
from corral.scheduling.state.workload_state import Chunk, WorkState


class GuardedFeasibility:
    """About one chunk of one taker, as the board is before the first trial."""

    def __init__(self, cycle: Cycle, chunk: Chunk) -> None:
        self._now = cycle.now
        self._guards = [
            guard
            for guard in cycle.guards
            if not guard.spares(chunk.work, cycle.now) and guard.outlasted_by(chunk.work, cycle.now)
        ]
        if any(slot.request.sliced for slot in chunk.slots):
            self._guards = []
        self._free = 0
        if self._guards:
            with shielded(cycle.board, self._guards):
                self._free = int(cycle.placer.capacity.untouched().sum())

    def could_fit_by_moving(self, part: Chunk, victims: Sequence[Chunk]) -> bool:
        """Whether devices enough for a part of the chunk could become free that are not kept from it."""
        needed = part.amount[GPU] // WHOLE_DEVICE_MILLI
        if not self._guards or needed <= self._free:
            return True
        slots = [slot for chunk in victims for slot in chunk.slots]
        if any(slot.request.sliced for slot in slots):
            return True
        moved = set(slots)
        unguarded = {work for work in {chunk.work for chunk in victims} if self._passes(work, moved)}
        devices = sum(len(slot.spot.devices) for slot in slots if slot.group.work in unguarded and slot.spot)
        return needed <= self._free + devices

    def _passes(self, victim: WorkState, moved: set[Slot]) -> bool:
        """Whether it may use something that is kept from the taker; who moves as a whole begins again."""
        again = all(slot in moved for slot in victim.slots if slot.active)
        return any(
            guard.spares(victim, self._now) or not guard.outlasted_by(victim, self._now, again=again)
            for guard in self._guards
        )
