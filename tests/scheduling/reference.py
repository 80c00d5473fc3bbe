"""The search and the trial as the rules say them, without anything that makes them fast.

Every taker sorts every workload anew, every set of victims is rehearsed, and the turns of a rehearsal are
those of all that wait. The tests compare plans made this way with those of the engine.
"""

from collections.abc import Iterator

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.doubt import MostLost
from corral.scheduling.order import Order, queue_key
from corral.scheduling.tree import QueueState
from corral.scheduling.trial import Judge
from corral.scheduling.victims import Candidates
from corral.scheduling.work import Chunk, Slot, WorkState


def take_for(
    cycle: Cycle,
    action: Action,
    taker: WorkState,
    candidates: Candidates,
    judge: Judge,
    most_lost: MostLost | None = None,
) -> SearchResult | None:
    """Stands in for `corral.scheduling.search.take_for`."""
    chunk = taker.chunk()
    assert chunk is not None
    if cycle.guarantee_refusal(chunk) is not None:
        return SearchResult.NOT_ALLOWED
    works = [work for leaf in candidates.leaves for work in candidates.works(leaf)]
    chunks = victim_order(cycle, works)
    for victims in sets_of(chunks):
        if rehearse(cycle, action, taker, victims, judge):
            return None
    return SearchResult.IMPOSSIBLE


def victim_order(cycle: Cycle, works: list[WorkState]) -> list[Chunk]:
    """The normal order from its end: each time every queue is compared by what it would lose next."""
    taken: set[Slot] = set()
    gone: dict[QueueState, list[int]] = {}
    order: list[Chunk] = []
    across = cycle.pool.priority_across_queues

    def next_in(leaf: QueueState) -> Chunk | None:
        found = [
            (work.priority, len(chunk.slots) == _held(work, taken), -work.created, work.name, chunk)
            for work in works
            if work.queue is leaf and (chunk := work.victim_chunk(taken)) is not None
        ]
        # Equal ones go by name, the last first.
        found.sort(key=lambda entry: entry[3], reverse=True)
        return min(found, key=lambda entry: entry[:3])[4] if found else None

    def head(queue: QueueState) -> tuple[tuple[int, tuple[object, ...]], QueueState, Chunk] | None:
        if queue.children:
            heads = [found for child in queue.children if (found := head(child)) is not None]
            if not heads:
                return None
            _, leaf, chunk = max(heads, key=lambda entry: entry[0])
        else:
            first = next_in(queue)
            if first is None:
                return None
            leaf, chunk = queue, first
        lost = gone.get(queue, [0, 0, 0])
        left = [queue.allocated[kind] - lost[kind] - chunk.amount[kind] for kind in range(3)]
        standing, after = queue_key(queue, queue.allocated), queue_key(queue, left)
        return (-chunk.work.priority if across else 0, (*standing[:2], *after[2:])), leaf, chunk

    while heads := [found for root in cycle.tree.roots if (found := head(root)) is not None]:
        _, leaf, chunk = max(heads, key=lambda entry: entry[0])
        order.append(chunk)
        taken.update(chunk.slots)
        for queue in leaf.path:
            total = gone.setdefault(queue, [0, 0, 0])
            for kind, amount in enumerate(chunk.amount):
                total[kind] += amount
    return order


def _held(work: WorkState, taken: set[Slot]) -> int:
    return sum(slot.active and slot not in taken for slot in work.slots)


def sets_of(order: list[Chunk]) -> Iterator[list[Chunk]]:
    seen: list[int] = []
    for number, chunk in enumerate(order):
        for node in sorted(_nodes(chunk)):
            yield _touching(order[: number + 1], {node})
            if node not in seen:
                seen.append(node)
    size = 1
    while seen:
        yield _touching(order, set(seen[:size]))
        if size >= len(seen):
            return
        size *= 2


def _touching(order: list[Chunk], nodes: set[int]) -> list[Chunk]:
    """The chunks on the nodes, and those of the same workloads that come before."""
    return [
        chunk
        for number, chunk in enumerate(order)
        if any(later.work is chunk.work and _nodes(later) & nodes for later in order[number:])
    ]


def _nodes(chunk: Chunk) -> set[int]:
    return {slot.spot.node for slot in chunk.slots if slot.spot is not None}


def rehearse(cycle: Cycle, action: Action, taker: WorkState, victims: list[Chunk], judge: Judge) -> bool:
    board = cycle.board
    mark = board.mark
    for chunk in victims:
        for slot in chunk.slots:
            board.take(slot)
    if _place_all(cycle, taker, {chunk.work for chunk in victims}):
        lost = [
            Chunk(chunk.work, slots)
            for chunk in victims
            if (slots := [slot for slot in chunk.slots if not slot.active])
        ]
        if judge(lost):
            _write_down(cycle, action, taker, victims)
            return True
    board.undo(mark)
    return False


def _place_all(cycle: Cycle, taker: WorkState, victims: set[WorkState]) -> bool:
    order = Order(cycle.works, across=cycle.pool.priority_across_queues)
    placed = False
    while (work := order.pop()) is not None:
        if work not in victims and work is not taker:
            continue
        chunk = work.chunk()
        assert chunk is not None
        found = cycle.place(chunk, rehearsal=True, keep=placed) is None
        if work is taker:
            placed = found
            if not found:
                return False
    return placed


def _write_down(cycle: Cycle, action: Action, taker: WorkState, victims: list[Chunk]) -> None:
    undone = {
        chunk.work.name for chunk in victims if not any(slot.new is not None for slot in chunk.work.slots)
    }
    for slot, (_, name) in list(cycle.taken_for.items()):
        if name in undone:
            cycle.taken_for[slot] = action, taker.name
    for chunk in victims:
        for slot in chunk.slots:
            if slot in chunk.work.evicted_slots:
                cycle.taken_for[slot] = action, taker.name
