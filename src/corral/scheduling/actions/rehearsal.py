"""The trial: rehearse the next cycle with a set of victims, and see what is lost.

The victims become pending; then taker and victims are placed in the normal order. Other pending work
takes part in the order and is skipped at its turn. Nothing of a failed trial remains.

A trial prefers what is idle to what the victims leave, and gives each victim one chunk back. The next cycle
finds both idle, and lets victims grow. So a trial counts only if the taker also gets its place that way;
otherwise the victims would take it back, and the cluster would move for ever.
"""

from collections.abc import Callable, Sequence

from corral.core.plans import Action
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.ordering.queue_order import order_of
from corral.scheduling.ordering.rehearsal_order import RehearsalOrder
from corral.scheduling.placing.node_scores import When
from corral.scheduling.state.slots import Slot
from corral.scheduling.state.workload_state import Chunk, WorkState

Judge = Callable[[Sequence[Chunk]], bool]


def rehearse(
    cycle: Cycle,
    action: Action,
    taker_chunk: Chunk,
    victims: Sequence[Chunk],
    judge: Judge,
    *,
    last: bool = True,
) -> list[Chunk] | None:
    """The victims that move or are lost, if the taker finds a place for `taker_chunk` and `judge` accepts it.

    None if not. The board shows the `last` trial; of others, where `taker_chunk` is only the first of a gang,
    nothing remains either.
    """
    board, mark = cycle.board, cycle.board.mark
    touched = None
    if _replace(cycle, action, taker_chunk, victims) and judge(_lost(victims)):
        touched = _touched(victims)
    if touched is None or not last:
        board.undo(mark)
        return touched
    if touched:
        board.undo(mark)
        lasts = _lasts(cycle, taker_chunk, touched)
        board.undo(mark)
        if not lasts:
            return None
        _replace(cycle, action, taker_chunk, victims)
    _note_takings(cycle, action, taker_chunk.work, victims)
    cycle.victim_index.changed({taker_chunk.work, *(chunk.work for chunk in victims)})
    return touched


def _take(cycle: Cycle, victims: Sequence[Chunk]) -> None:
    for chunk in victims:
        for slot in chunk.slots:
            cycle.board.take(slot)


def _replace(cycle: Cycle, action: Action, taker_chunk: Chunk, victims: Sequence[Chunk]) -> bool:
    """Places the taker and, where there is room, the victims; False if someone has no place who must."""
    waiting = cycle.victim_index.waiting()
    _take(cycle, victims)
    works = {chunk.work for chunk in victims}
    order = RehearsalOrder(
        cycle.tree, waiting, (taker_chunk.work, *works), across=cycle.pool.priority_across_queues
    )
    return _place_all(cycle, order, taker_chunk, nothing_lost=action is Action.CONSOLIDATE)


def _lasts(cycle: Cycle, taker_chunk: Chunk, touched: Sequence[Chunk]) -> bool:
    """Whether the taker gets its place, too, once the victims are gone and ask for all they want."""
    _take(cycle, touched)
    works = {taker_chunk.work, *(chunk.work for chunk in touched)}
    order = order_of(works, across=cycle.pool.priority_across_queues)
    while (work := order.pop()) is not None:
        chunk = work.chunk()
        assert chunk is not None
        placed = cycle.place(chunk, when=When.LATER) is None
        if work is taker_chunk.work:
            return placed
        if placed:
            order.push(work)
    return False


def _note_takings(cycle: Cycle, action: Action, taker: WorkState, victims: Sequence[Chunk]) -> None:
    """Writes down for whom and by which rule running replicas go.

    What was taken for someone who now loses it again in the same cycle is taken for this taker: the
    former one never happened.
    """
    evicted = [slot for chunk in victims for slot in chunk.slots if slot in chunk.work.evicted_slots]
    for chunk in victims:
        if not any(slot.new is not None for slot in chunk.work.slots):
            # Some of it may have been taken for yet another one since.
            evicted += (
                slot
                for slot in cycle.takings.pop(chunk.work, ())
                if cycle.taken_for[slot][1] == chunk.work.name
            )
    for slot in evicted:
        cycle.taken_for[slot] = action, taker.name
    cycle.takings.setdefault(taker, []).extend(evicted)


def _place_all(cycle: Cycle, order: RehearsalOrder, taker_chunk: Chunk, *, nothing_lost: bool) -> bool:
    """Places what is taken and one chunk of each victim; False as soon as one is not placed that must be."""
    taker_placed = False
    while (work := order.pop()) is not None:
        chunk = taker_chunk if work is taker_chunk.work else work.chunk()
        assert chunk is not None
        placed = cycle.place(chunk, when=When.NEXT, keep=taker_placed) is None
        if not placed and (nothing_lost or chunk is taker_chunk):
            return False
        taker_placed = taker_placed or chunk is taker_chunk
    return taker_placed


def _lost(victims: Sequence[Chunk]) -> list[Chunk]:
    """What did not get a spot again, chunk by chunk in the order in which it was taken."""
    lost = []
    for chunk in victims:
        slots: list[Slot] = [slot for slot in chunk.slots if not slot.active]
        if slots:
            lost.append(Chunk(chunk.work, slots))
    return lost


def _touched(victims: Sequence[Chunk]) -> list[Chunk]:
    """The chunks of workloads of which something is not where it was."""
    works = {
        chunk.work for chunk in victims for slot in chunk.slots if slot.new is not None or not slot.active
    }
    return [chunk for chunk in victims if chunk.work in works]
