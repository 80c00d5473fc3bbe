"""The trial: rehearse the next cycle with a set of victims, and see what is lost.

The victims become pending; then taker and victims are placed in the normal order. Other pending work
takes part in the order and is skipped at its turn. Nothing of a failed trial remains.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from corral.core.plans import Action
from corral.scheduling.cycle import Cycle
from corral.scheduling.order import Order
from corral.scheduling.work import Chunk, Slot, WorkState

Judge = Callable[[Sequence[Chunk]], bool]


def rehearse(cycle: Cycle, action: Action, taker: WorkState, victims: Sequence[Chunk], judge: Judge) -> bool:
    """Whether the taker finds a place and `judge` accepts what is lost; if so, the board shows it."""
    board = cycle.board
    mark = board.mark
    for chunk in victims:
        for slot in chunk.slots:
            board.take(slot)
    if _place_all(cycle, taker, {chunk.work for chunk in victims}) and judge(_lost(victims)):
        for chunk in victims:
            for slot in chunk.slots:
                if slot in chunk.work.evicted_slots:
                    cycle.taken_for[slot] = action, taker.name
        return True
    board.undo(mark)
    return False


def _place_all(cycle: Cycle, taker: WorkState, victims: set[WorkState]) -> bool:
    """Places the taker and one chunk of each victim; False as soon as the taker cannot be placed."""
    taking_part = victims | {taker}
    # Below another root, work would be skipped at its turn without any effect.
    waiting = Counter(work.queue.path[-1] for work in taking_part)
    others = (work for work in cycle.works if work.queue.path[-1] in waiting)
    order = Order(cycle.tree, others, across=cycle.pool.priority_across_queues)
    taker_placed = False
    left = len(taking_part)
    while left and (work := order.pop()) is not None:
        if work not in taking_part:
            continue
        left -= 1
        root = work.queue.path[-1]
        waiting[root] -= 1
        chunk = work.chunk()
        assert chunk is not None
        placed = cycle.place(chunk, rehearsal=True, keep=taker_placed) is None
        if work is taker:
            if not placed:
                return False
            taker_placed = True
        if not waiting[root]:
            order.drop(root)
    return taker_placed


def _lost(victims: Sequence[Chunk]) -> list[Chunk]:
    """What did not get a spot again, chunk by chunk in the order in which it was taken."""
    lost = []
    for chunk in victims:
        slots: list[Slot] = [slot for slot in chunk.slots if not slot.active]
        if slots:
            lost.append(Chunk(chunk.work, slots))
    return lost
