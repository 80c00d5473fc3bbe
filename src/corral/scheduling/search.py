"""The search: which sets of victims are tried for a taker, and in which order.

Victim chunks come one at a time from the victim order; after each, the victims on one node are tried, or
in one domain where the taker needs one. If that never works, sets of nodes (or domains), grown 1, 2, 4 …,
with every chunk that touches them. Sets that cannot make enough room, however their nodes were emptied, are
passed over.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.doubt import Doubt, MostLost
from corral.scheduling.doubt_domain import DomainDoubt
from corral.scheduling.failures import standing_of
from corral.scheduling.stock import Integers
from corral.scheduling.trial import Judge, rehearse
from corral.scheduling.victims import Candidates, VictimOrder
from corral.scheduling.work import Chunk, WorkState

# Most searches end after a trial or two; only those that do not are worth asking whether they can.
_SETS_BEFORE_DOUBT = 4


def take_for(
    cycle: Cycle,
    action: Action,
    taker: WorkState,
    candidates: Candidates,
    judge: Judge,
    most_lost: MostLost | None = None,
) -> SearchResult | None:
    """Makes room for the taker's next chunk; None when that worked, else how the search ended."""
    chunk = taker.chunk()
    assert chunk is not None
    if cycle.guarantee_refusal(chunk) is not None:
        return SearchResult.NOT_ALLOWED
    if not candidates.exist():
        return SearchResult.IMPOSSIBLE
    standing = standing_of(cycle, action, chunk)
    known = cycle.lists.failed.get(standing)
    ended = known or _search(cycle, action, chunk, candidates, judge, most_lost)
    if ended is not None and standing is not None:
        cycle.lists.failed[standing] = ended
    return ended


def _search(
    cycle: Cycle,
    action: Action,
    chunk: Chunk,
    candidates: Candidates,
    judge: Judge,
    most_lost: MostLost | None,
) -> SearchResult | None:
    domains = cycle.placer.domains_for(chunk)
    if domains is None:
        doubt = Doubt(cycle, chunk, candidates, most_lost)
    else:
        doubt = DomainDoubt(cycle, chunk, candidates, most_lost, domains)
    if doubt.needs_many_nodes() and not doubt.could_fit():
        return SearchResult.IMPOSSIBLE
    trials = 0
    order = VictimOrder(cycle.tree, candidates, across=cycle.pool.priority_across_queues)
    for number, (nodes, victims) in enumerate(_sets(order, domains)):
        if number == _SETS_BEFORE_DOUBT and not doubt.could_fit():
            return SearchResult.IMPOSSIBLE
        if not doubt.could_fit_by(nodes):
            continue
        if trials == cycle.config.search_trials:
            return SearchResult.OUT_OF_BUDGET
        trials += 1
        if rehearse(cycle, action, chunk.work, victims(), judge):
            return None
    return SearchResult.IMPOSSIBLE


class _Chunks:
    """The chunks in the order in which they came, by workload and by node, or by domain of nodes."""

    def __init__(self, domains: Integers | None) -> None:
        self._domains = domains
        self._chunks: list[Chunk] = []
        self._of_work: dict[WorkState, list[int]] = {}
        self._nodes_of: dict[WorkState, set[int]] = {}
        self.on_node: dict[int, list[int]] = {}
        self.reach: dict[int, set[int]] = {}  # the nodes that are touched if one is emptied

    def add(self, chunk: Chunk) -> list[int]:
        """Returns the nodes on which the chunk is, or their domains."""
        nodes = nodes_of(chunk)
        number = len(self._chunks)
        self._chunks.append(chunk)
        self._of_work.setdefault(chunk.work, []).append(number)
        touched = self._nodes_of.setdefault(chunk.work, set())
        touched.update(nodes)
        if self._domains is not None:
            nodes = sorted({int(self._domains[node]) for node in nodes} - {-1})
        for node in nodes:
            self.on_node.setdefault(node, []).append(number)
            self.reach.setdefault(node, set()).update(touched)
        return nodes

    def touching(self, nodes: Iterable[int]) -> list[Chunk]:
        """The chunks on the nodes, and those of the same workloads that come before: surplus goes first."""
        last: dict[WorkState, int] = {}
        for number in sorted({number for node in nodes for number in self.on_node[node]}):
            last[self._chunks[number].work] = number
        numbers = [number for work, end in last.items() for number in self._of_work[work] if number <= end]
        return [self._chunks[number] for number in sorted(numbers)]


def _sets(
    order: Iterable[Chunk], domains: Integers | None
) -> Iterator[tuple[Iterable[int], Callable[[], list[Chunk]]]]:
    """Sets of victims, each as the nodes that it touches and a way to have the chunks."""
    chunks = _Chunks(domains)
    for chunk in order:
        for node in chunks.add(chunk):
            yield chunks.reach[node], partial(chunks.touching, [node])
    nodes = list(chunks.on_node)
    size = 1
    while nodes:
        emptied = nodes[:size]
        yield set().union(*(chunks.reach[node] for node in emptied)), partial(chunks.touching, emptied)
        if size >= len(nodes):
            return
        size *= 2


def nodes_of(chunk: Chunk) -> list[int]:
    """The nodes on which the chunk's replicas are, each once."""
    if len(chunk.slots) == 1:
        spot = chunk.slots[0].spot
        return [] if spot is None else [spot.node]
    return sorted({slot.spot.node for slot in chunk.slots if slot.spot is not None})
