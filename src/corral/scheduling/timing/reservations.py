"""Reserve: when and where a workload that does not fit now will start, from the ends of what runs.

The board is walked forward: who ends first leaves first, until the workload fits by the usual rules; then
everything is undone and the places are guarded. Where no end is known there is no reservation.
"""

from bisect import insort

from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.placing.node_scores import When
from corral.scheduling.state.board import Board
from corral.scheduling.state.expected_ends import End
from corral.scheduling.state.guards import HoldGuard, ReservationGuard, need_of, owns, shielded
from corral.scheduling.state.queue_tree import KINDS
from corral.scheduling.state.run_times import expected_end
from corral.scheduling.state.slots import Phase, Slot, Spot
from corral.scheduling.state.workload_state import Chunk, WorkState

# Who waits for work without a known end gets no time; the next may. So many are asked per reservation.
_TRIES_EACH = 4


def reserve(cycle: Cycle, work: WorkState) -> None:
    """Guards a time and places for a workload that cannot start because of capacity."""
    chunk = work.chunk()
    assert chunk is not None
    # Growing above the minimum is not starting.
    if work.satisfied or not may_reserve(cycle):
        return
    cycle.reservation_tries += 1
    guard = find_start(cycle, chunk, ends_of(cycle, work), reservations(cycle))
    if guard is not None:
        cycle.guards.append(guard)


def may_reserve(cycle: Cycle) -> bool:
    """Whether there is a time to be given yet, and not too many asked in vain."""
    most = cycle.pool.reservations
    return len(reservations(cycle)) < most and cycle.reservation_tries < most * _TRIES_EACH


def reservations(cycle: Cycle) -> list[ReservationGuard]:
    """What this cycle reserved for work that still waits."""
    return [guard for guard in cycle.guards if isinstance(guard, ReservationGuard) and guard.waiting]


def ends_of(cycle: Cycle, without: WorkState | None = None) -> list[End]:
    """The known ends of what runs or starts now, soonest first."""
    moved = cycle.board.moved()
    ends = cycle.ends.at(cycle.now, moved if without is None else moved | {without})
    for work in moved:
        if work is not without and (expected := expected_end(work, cycle.now)) is not None:
            insort(ends, (expected.at, work.name, work), key=lambda end: end[:2])
    return ends


def find_start(
    cycle: Cycle, chunk: Chunk, ends: list[End], earlier: list[ReservationGuard]
) -> ReservationGuard | None:
    """The first time at which the chunk fits, not before the reservations made `earlier`."""
    board = cycle.board
    mark = board.mark
    begin = _pass_earlier(board, ends, earlier)
    count = _first_fit(cycle, chunk, ends, begin)
    if count is None:
        board.undo(mark)
        return None
    spots = {slot: slot.new for slot in chunk.slots if slot.new is not None}
    board.undo(mark)
    before = leaving_by(ends[:count], {spot.node for spot in spots.values()})
    return ReservationGuard(ends[count - 1][0], list(map(need_of, spots.values())), before, chunk, spots)


def leaving_by(ends: list[End], nodes: set[int]) -> list[tuple[Slot, Spot]]:
    """What those who end use on `nodes`."""
    return [
        (slot, slot.spot)
        for _, _, work in ends
        for slot in work.slots
        if slot.spot is not None and slot.spot.node in nodes
    ]


def _pass_earlier(board: Board, ends: list[End], earlier: list[ReservationGuard]) -> int:
    """Goes on to the last of the earlier reservations, as if those had started; how many have ended."""
    count = 0
    for guard in earlier:
        until = next((at for at, end in enumerate(ends) if end[0] > guard.at), len(ends))
        release(board, ends[count:until])
        count = max(count, until)
        for slot, spot in guard.spots.items():
            board.give(slot, spot, Phase.PROMISED)
    return count


def _first_fit(cycle: Cycle, chunk: Chunk, ends: list[End], begin: int) -> int | None:
    """How many ends it takes; the board then shows them gone and the chunk placed.

    More room never hurts replicas that ask for the same, so the number is found by doubling and halving.
    """
    board = cycle.board
    low = max(begin, _too_few(cycle, chunk, ends))
    release(board, ends[begin:low])
    low_mark, step = board.mark, 1
    while True:
        high = min(low + step, len(ends))
        if high == low:
            return None
        release(board, ends[low:high])
        reached = board.mark
        if _fits(cycle, chunk):
            break
        low, low_mark, step = high, reached, step * 2
    while high - low > 1:
        board.undo(low_mark)
        middle = (low + high) // 2
        release(board, ends[low:middle])
        reached = board.mark
        if _fits(cycle, chunk):
            high = middle
        else:
            low, low_mark = middle, reached
    board.undo(low_mark)
    high = _through_instant(ends, high)
    release(board, ends[low:high])
    return high if _fits(cycle, chunk) else None


def _through_instant(ends: list[End], count: int) -> int:
    """Everyone who ends at the same time as the last of `count`: the places do not depend on their names."""
    while count < len(ends) and ends[count][0] == ends[count - 1][0]:
        count += 1
    return count


def _fits(cycle: Cycle, chunk: Chunk) -> bool:
    if cycle.refusal(chunk) is not None:
        return False
    # Windows are avoided altogether: whether it would be gone by then is not known before its start is.
    foreign_holds = [
        guard for guard in cycle.guards if isinstance(guard, HoldGuard) and not _may_use(guard, chunk)
    ]
    with shielded(cycle.board, foreign_holds):
        return cycle.placer.place(chunk, when=When.LATER) == len(chunk.slots)


def _too_few(cycle: Cycle, chunk: Chunk, ends: list[End]) -> int:
    """How many ends can be skipped because in sum too little would be free; slices are not so simple."""
    if any(slot.request.sliced for slot in chunk.slots):
        return 0
    missing = [
        chunk.amount[kind] - cycle.tree.total[kind] + sum(root.allocated[kind] for root in cycle.tree.roots)
        for kind in KINDS
    ]
    for count, (_, _, work) in enumerate(ends):
        if all(amount <= 0 for amount in missing):
            return max(0, count - 1)
        for slot in work.slots:
            if slot.spot is not None:
                missing = [missing[kind] - slot.spot.amount[kind] for kind in KINDS]
    return max(0, len(ends) - 1)


def _may_use(guard: HoldGuard, chunk: Chunk) -> bool:
    return owns(guard.hold, guard.owner, chunk.work)


def release(board: Board, ends: list[End]) -> None:
    for _, _, work in ends:
        for slot in work.slots:
            if slot.active:
                board.take(slot)
