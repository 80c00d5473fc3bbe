"""The search and the trial as the rules say them, without anything that makes them fast.

Every taker sorts every workload anew, every set of victims is rehearsed, and the turns of a rehearsal are
those of all that wait. The tests compare plans made this way with those of the engine.
"""

from collections.abc import Iterator

from corral.core.plans import Action, SearchResult
from corral.scheduling.actions.feasibility import Feasibility, MostLost
from corral.scheduling.actions.rehearsal import Judge
from corral.scheduling.actions.victim_order import Candidates
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.ordering.queue_order import order_of, victim_key
from corral.scheduling.placing.node_scores import When
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.slots import Slot
from corral.scheduling.state.workload_state import Chunk, WorkState


def search_victims(
    cycle: Cycle,
    action: Action,
    taker: WorkState,
    candidates: Candidates,
    judge: Judge,
    most_lost: MostLost | None = None,
) -> SearchResult | None:
    """Stands in for `corral.scheduling.actions.victim_search.take_for`."""
    chunk = taker.chunk()
    assert chunk is not None
    if cycle.guarantee_refusal(chunk) is not None:
        return SearchResult.NOT_ALLOWED
    for leaf in candidates.leaves:
        cycle.workload_index.in_queue(leaf)  # nobody rests
    works = [work for leaf in candidates.leaves for work in candidates.awake(leaf)]
    order = victim_order(cycle, works, candidates)
    if by_replicas(cycle, action, chunk, order, judge):
        return None
    feasibility = Feasibility(cycle, chunk, candidates, None)
    lengths = [1 << power for power in range(len(order)) if 1 << power <= len(order)]
    for length in [*lengths, len(order)]:
        if by_sets(cycle, action, chunk, order[:length], judge, feasibility):
            return None
    return SearchResult.IMPOSSIBLE


def by_replicas(cycle: Cycle, action: Action, chunk: Chunk, order: list[Chunk], judge: Judge) -> bool:
    """Room for the first replica, the first two, four …, and all; a gang of one domain only as a whole."""
    size = len(chunk.slots)
    counts = [1 << power for power in range(size) if 1 << power < size] if chunk.work.bond is None else []
    needed: list[Chunk] = []
    for count in [*counts, size]:
        part = Chunk(chunk.work, chunk.slots[:count])
        mark = cycle.board.mark
        found = next(
            (
                victims
                for victims in sets_of(order, needed)
                if rehearse(cycle, action, part, victims, judge, last=count == size)
            ),
            None,
        )
        if found is None:
            return False
        if count < size:
            touched = {each.work for each in found if any(map(_is_touched, each.slots))}
            needed = [each for each in found if each.work in touched]
            cycle.board.undo(mark)
    return True


def _is_touched(slot: Slot) -> bool:
    return slot.new is not None or not slot.active


def victim_order(cycle: Cycle, works: list[WorkState], candidates: Candidates) -> list[Chunk]:
    """The normal order from its end: each time every queue is compared by what it would lose next."""
    taken: set[Slot] = set()
    gone: dict[QueueState, list[int]] = {}
    order: list[Chunk] = []
    across = cycle.pool.priority_across_queues

    def next_in(leaf: QueueState) -> Chunk | None:
        found = [
            (work.priority, len(chunk.slots) == _held(work, taken), -work.created, work.name, chunk)
            for work in works
            if work.queue is leaf
            and (chunk := work.victim_chunk(taken)) is not None
            # What has not run long enough keeps its minimum.
            and not (candidates.keeps_minimum(work) and len(chunk.slots) == _held(work, taken))
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
        spots = [slot.spot for slot in chunk.work.slots if slot not in taken]
        held = [sum(spot.amount[kind] for spot in spots if spot is not None) for kind in range(3)]
        left = [queue.allocated[kind] - lost[kind] - held[kind] for kind in range(3)]
        return (-chunk.work.priority if across else 0, victim_key(queue, left)), leaf, chunk

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


def sets_of(order: list[Chunk], needed: list[Chunk]) -> Iterator[list[Chunk]]:
    """Those needed before; then after each other chunk those on one of its nodes as well."""
    if needed:
        yield needed
    others = [chunk for chunk in order if chunk not in needed]
    for number, chunk in enumerate(others):
        for node in sorted(_nodes(chunk)):
            yield [*needed, *_touching(others[: number + 1], {node})]


def by_sets(
    cycle: Cycle, action: Action, chunk: Chunk, order: list[Chunk], judge: Judge, feasibility: Feasibility
) -> bool:
    """The whole chunk by the nodes of some victim chunks: the fewest that could do, then 1, 2, 4 … more."""
    nodes = list(dict.fromkeys(node for each in order for node in sorted(_nodes(each))))
    most = min(len(nodes), len(chunk.slots)) if action is Action.CONSOLIDATE else len(nodes)
    sizes = [
        size for size in range(1, most + 1) if feasibility.could_fit_by(_reach(order, set(nodes[:size])))
    ]
    if not sizes or (action is Action.CONSOLIDATE and len(chunk.slots) == 1):
        return False
    size, more = sizes[0], 1
    while True:
        if rehearse(cycle, action, chunk, _alone(order, set(nodes[:size])), judge):
            return True
        if size == most:
            return False
        size, more = min(size + more, most), 2 * more


def _reach(order: list[Chunk], nodes: set[int]) -> set[int]:
    """The nodes on which workloads are of which a chunk is on `nodes`, or comes before one that is."""
    return set().union(*(_nodes(chunk) for chunk in _touching(order, nodes)))


def _alone(order: list[Chunk], nodes: set[int]) -> list[Chunk]:
    """The chunks on the nodes, and those before the ones of several replicas among them."""
    touched = [chunk for chunk in order if _nodes(chunk) & nodes]
    together = [chunk for chunk in touched if len(chunk.slots) > 1]
    return [
        chunk
        for number, chunk in enumerate(order)
        if chunk in touched or any(later.work is chunk.work for later in order[number:] if later in together)
    ]


def _touching(order: list[Chunk], nodes: set[int]) -> list[Chunk]:
    """The chunks on the nodes, and those of the same workloads that come before."""
    return [
        chunk
        for number, chunk in enumerate(order)
        if any(later.work is chunk.work and _nodes(later) & nodes for later in order[number:])
    ]


def _nodes(chunk: Chunk) -> set[int]:
    return {slot.spot.node for slot in chunk.slots if slot.spot is not None}


def rehearse(
    cycle: Cycle, action: Action, taken: Chunk, victims: list[Chunk], judge: Judge, *, last: bool = True
) -> bool:
    """Leaves the board as it is after a success, also where that was not the last."""
    board = cycle.board
    mark = board.mark
    for chunk in victims:
        for slot in chunk.slots:
            board.take(slot)
    if _place_all(cycle, taken, {chunk.work for chunk in victims}):
        lost = [
            Chunk(chunk.work, slots)
            for chunk in victims
            if (slots := [slot for slot in chunk.slots if not slot.active])
        ]
        if judge(lost):
            if last:
                _write_down(cycle, action, taken.work, victims)
            return True
    board.undo(mark)
    return False


def _place_all(cycle: Cycle, taken: Chunk, victims: set[WorkState]) -> bool:
    order = order_of(cycle.works, across=cycle.pool.priority_across_queues)
    placed = False
    while (work := order.pop()) is not None:
        if work not in victims and work is not taken.work:
            continue
        chunk = taken if work is taken.work else work.chunk()
        assert chunk is not None
        found = cycle.place(chunk, when=When.NEXT, keep=placed) is None
        if chunk is taken:
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
