"""The search: which sets of victims are tried for a taker, and in which order.

Victim chunks come one at a time from the victim order; after each, the victims on one node are tried.
If that never works, sets of nodes, grown 1, 2, 4 …, with every chunk that touches them.
"""

from collections.abc import Iterable, Iterator, Sequence

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.trial import Judge, rehearse
from corral.scheduling.victims import VictimOrder
from corral.scheduling.work import Chunk, WorkState

# Most searches end after a trial or two; only those that do not are worth asking whether they can.
_TRIALS_BEFORE_DOUBT = 4


def take_for(
    cycle: Cycle, action: Action, taker: WorkState, candidates: Iterable[WorkState], judge: Judge
) -> SearchResult | None:
    """Makes room for the taker's next chunk; None when that worked, else how the search ended."""
    chunk = taker.chunk()
    assert chunk is not None
    if cycle.guarantee_refusal(chunk) is not None:
        return SearchResult.NOT_ALLOWED
    # What others of this cycle had evicted may suffice; what was free before is for allocate.
    if cycle.taken_for and cycle.place(chunk, rehearsal=True) is None:
        return None
    works = list(candidates)
    if not works:
        return SearchResult.IMPOSSIBLE
    for number, victims in enumerate(
        _sets(VictimOrder(cycle.tree, works, across=cycle.pool.priority_across_queues))
    ):
        if number >= cycle.config.search_trials:
            return SearchResult.OUT_OF_BUDGET
        if number == _TRIALS_BEFORE_DOUBT and not _could_fit(cycle, chunk, works):
            return SearchResult.IMPOSSIBLE
        if rehearse(cycle, action, taker, victims, judge):
            return None
    return SearchResult.IMPOSSIBLE


def _could_fit(cycle: Cycle, chunk: Chunk, candidates: Iterable[WorkState]) -> bool:
    """Whether the chunk would fit if every candidate lost everything; saying no must be fast.

    Certain only for replicas that ask for the same: for these, more room never hurts.
    """
    if any(slot.request is not chunk.slots[0].request for slot in chunk.slots):
        return True
    board = cycle.board
    mark = board.mark
    for victim in VictimOrder(cycle.tree, candidates):
        for slot in victim.slots:
            board.take(slot)
    fits = cycle.place(chunk, rehearsal=True) is None
    board.undo(mark)
    return fits


def _sets(order: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    chunks: list[Chunk] = []
    on_node: dict[int, list[int]] = {}  # numbers of the chunks that touch a node
    for chunk in order:
        nodes = nodes_of(chunk)
        for node in nodes:
            on_node.setdefault(node, []).append(len(chunks))
        chunks.append(chunk)
        for node in nodes:
            yield _with_earlier(chunks, on_node[node])
    nodes = list(on_node)
    size = 1
    while nodes:
        numbers = {number for node in nodes[:size] for number in on_node[node]}
        yield _with_earlier(chunks, sorted(numbers))
        if size >= len(nodes):
            return
        size *= 2


def _with_earlier(chunks: Sequence[Chunk], numbers: Sequence[int]) -> list[Chunk]:
    """The numbered chunks, and those of the same workloads that come before them: surplus goes first."""
    last: dict[WorkState, int] = {}
    for number in numbers:
        last[chunks[number].work] = number
    if not last:
        return []
    return [
        chunk
        for number, chunk in enumerate(chunks[: max(last.values()) + 1])
        if number <= last.get(chunk.work, -1)
    ]


def nodes_of(chunk: Chunk) -> list[int]:
    """The nodes on which the chunk's replicas are, each once."""
    return sorted({slot.spot.node for slot in chunk.slots if slot.spot is not None})
