"""The search: which sets of victims are tried for a taker, and in which order.

Room is made for one replica of the taker, then for 2, 4 … and at last for all, each time with what the ones
before needed. Victim chunks come one at a time from the victim order; after each, the victims on one node
are tried, or in one domain where the taker needs one. If that never works, sets of nodes (or domains): of the
first 1, 2, 4 … victim chunks and at last of all, the fewest nodes that could do, then more, with every chunk
that touches them; to consolidate, no more nodes than replicas. Sets that cannot make enough room, however
their nodes were emptied, are skipped.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from corral.core.plans import Action, SearchResult
from corral.scheduling.actions.failed_searches import search_key
from corral.scheduling.actions.feasibility import Feasibility, MostLost
from corral.scheduling.actions.feasibility_domain import DomainFeasibility
from corral.scheduling.actions.feasibility_guarded import GuardedFeasibility
from corral.scheduling.actions.rehearsal import Judge, rehearse
from corral.scheduling.actions.victim_order import Candidates, VictimOrder
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.placing.free_capacity import Flags, Integers
from corral.scheduling.state.workload_state import Chunk, WorkState

# Most searches end after a trial or two; only those that do not are worth asking whether they can.
_SETS_BEFORE_FEASIBILITY = 4


def search_victims(
    cycle: Cycle,
    action: Action,
    taker: WorkState,
    candidates: Candidates,
    judge: Judge,
    most_lost: MostLost | None = None,
) -> SearchResult | None:
    """Makes room for the taker's next chunk; None when that worked, else how the search ended.

    That the taker may have it, and that there is somebody to take from, was seen before.
    """
    chunk = taker.chunk()
    assert chunk is not None
    standing = search_key(cycle, action, chunk)
    earlier = cycle.victim_index.failed.get(standing)
    if earlier is not None:
        return earlier
    ended = _Search(cycle, action, chunk, candidates, judge, most_lost).run()
    if ended is not None and standing is not None:
        cycle.victim_index.failed[standing] = ended
    return ended


class _Search:
    """For one chunk of one taker."""

    def __init__(
        self,
        cycle: Cycle,
        action: Action,
        chunk: Chunk,
        candidates: Candidates,
        judge: Judge,
        most_lost: MostLost | None,
    ) -> None:
        self._cycle = cycle
        self._action = action
        self._chunk = chunk
        self._candidates = candidates
        self._judge = judge
        self._most_lost = most_lost
        self._domains = cycle.placer.domains_for(chunk)
        self._feasibility = (
            Feasibility(cycle, chunk, candidates, most_lost)
            if self._domains is None
            else DomainFeasibility(cycle, chunk, candidates, most_lost, self._domains)
        )
        self._guarded_feasibility = (
            GuardedFeasibility(cycle, chunk) if cycle.guards and action is Action.CONSOLIDATE else None
        )
        self._order: Iterator[Chunk] | None = None  # made when it is needed: saying no must be fast
        self._come: list[Chunk] = []  # of it, so far
        self._clear: Flags | None = None  # where moving others could make room for the first replica
        self._counted = False
        self._sets = 0
        self._trials = 0
        self._ended: SearchResult | None = None

    def run(self) -> SearchResult | None:
        if self._feasibility.needs_many_nodes() and not (
            self._feasibility.could_fit() and self._could_clear_any()
        ):
            return SearchResult.IMPOSSIBLE
        solved = self._by_replicas() if self._domains is None else self._by_one(self._chunk, []) is not None
        if not solved and self._ended is None:
            solved = self._by_sets()
        return None if solved else self._ended or SearchResult.IMPOSSIBLE

    def _by_replicas(self) -> bool:
        """Makes room for the first ones of a gang, and from there for more."""
        slots, needed, count = self._chunk.slots, list[Chunk](), 1
        while count < len(slots):
            found = self._by_one(Chunk(self._chunk.work, slots[:count]), needed)
            if found is None:
                return False
            needed, count = found, 2 * count
        return self._by_one(self._chunk, needed) is not None

    def _by_one(self, part: Chunk, needed: list[Chunk]) -> list[Chunk] | None:
        """The victims that make room for a part of the taker: `needed`, and those on one node or domain."""
        feasibility = self._feasibility
        if needed or part is not self._chunk:
            feasibility = Feasibility(self._cycle, part, self._candidates, self._most_lost, needed)
        chunks = _Chunks(self._domains)
        found = self._try(part, feasibility, (), partial(chunks.touching, []), needed) if needed else None
        if found is not None or self._ended is not None:
            return found
        already_needed = set(needed)
        for chunk in self._victims():
            if chunk in already_needed:
                continue
            for node in chunks.add(chunk):
                if not needed and not self._could_clear(node):
                    continue
                touching = partial(chunks.touching, [node])
                found = self._try(part, feasibility, chunks.reach[node], touching, needed)
                if found is not None or self._ended is not None:
                    return found
        return None

    def _could_clear_any(self) -> bool:
        """Whether moving others could make room for the first replica anywhere."""
        clear = self._nodes_to_clear()
        return clear is None or bool(clear.any())

    def _could_clear(self, node: int) -> bool:
        """Whether moving those on one node could; asked in earnest only of searches that take long."""
        clear = None if self._sets < _SETS_BEFORE_FEASIBILITY else self._nodes_to_clear()
        return clear is None or bool(clear[node])

    def _nodes_to_clear(self) -> Flags | None:
        """Counted once; None where nothing is certain."""
        if not self._counted:
            self._counted = True
            if self._action is Action.CONSOLIDATE and self._domains is None:
                self._clear = self._feasibility.nodes_to_clear()
        return self._clear

    def _by_sets(self) -> bool:
        """The whole chunk at once, by ever more of the nodes or domains, as they come in victim order."""
        # To consolidate, nobody moves on more nodes than the taker could use.
        most = len(self._chunk.slots) if self._action is Action.CONSOLIDATE else None
        if most == 1:
            return False
        chunks, due = _Chunks(self._domains), 1
        for count, chunk in enumerate(self._victims(), start=1):
            chunks.add(chunk)
            if count == due:
                if self._by_sets_of(chunks, most):
                    return True
                if self._ended is not None:
                    return False
                due *= 2
        return self._by_sets_of(chunks, most)

    def _by_sets_of(self, chunks: "_Chunks", most: int | None) -> bool:
        """By the nodes of these victim chunks: the fewest that could do, then one, two, four … more."""
        nodes = list(chunks.on_node)
        most = len(nodes) if most is None else min(most, len(nodes))
        size, more = bisect_left(range(most + 1), True, key=partial(self._could_do, chunks, nodes)), 1
        while size <= most and nodes and self._ended is None:
            emptied = nodes[:size]
            touching = partial(chunks.touching, emptied, alone=True)
            if self._try(self._chunk, self._feasibility, chunks.reached(emptied), touching) is not None:
                return True
            if size == most:
                break
            size, more = min(size + more, most), 2 * more
        return False

    def _could_do(self, chunks: "_Chunks", nodes: list[int], size: int) -> bool:
        """Whether the first nodes could make room; of none of them nothing is taken."""
        return size > 0 and self._feasibility.could_fit_by(chunks.reached(nodes[:size]))

    def _victims(self) -> Iterator[Chunk]:
        """In victim order, from the beginning."""
        yield from self._come
        if self._order is None:
            across = self._cycle.pool.priority_across_queues
            self._order = iter(VictimOrder(self._cycle.tree, self._candidates, across=across))
        for chunk in self._order:
            self._come.append(chunk)
            yield chunk

    def _try(
        self,
        part: Chunk,
        feasibility: Feasibility,
        nodes: Iterable[int],
        touching: Callable[[], list[Chunk]],
        needed: Iterable[Chunk] = (),
    ) -> list[Chunk] | None:
        """Rehearses with the victims `needed` and those `touching` the nodes, where that could do.

        Those of them that were needed indeed, if it works.
        """
        if self._sets == _SETS_BEFORE_FEASIBILITY and not self._feasibility.could_fit():
            self._ended = SearchResult.IMPOSSIBLE
            return None
        self._sets += 1
        if not feasibility.could_fit_by(nodes):
            return None
        victims = touching()
        if self._action is Action.CONSOLIDATE and not feasibility.could_fit_by_moving([*needed, *victims]):
            return None
        if self._guarded_feasibility is not None and not self._guarded_feasibility.could_fit_by_moving(
            part, [*needed, *victims]
        ):
            return None
        if not feasibility.could_fit_by_losing(victims):
            return None
        if self._trials == self._cycle.config.search_trials:
            self._ended = SearchResult.OUT_OF_BUDGET
            return None
        self._trials += 1
        last = part is self._chunk
        return rehearse(self._cycle, self._action, part, [*needed, *victims], self._judge, last=last)


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

    def reached(self, nodes: Iterable[int]) -> set[int]:
        """The nodes that are touched if these are emptied."""
        return set().union(*(self.reach[node] for node in nodes))

    def touching(self, nodes: Iterable[int], *, alone: bool = False) -> list[Chunk]:
        """The chunks on the nodes, and those of the same workloads that come before: surplus goes first.

        With `alone` without these, where any replica is as good as another: the workload needs only one.
        """
        touched = {number for node in nodes for number in self.on_node[node]}
        last: dict[WorkState, int] = {}
        for number in sorted(touched):
            chunk = self._chunks[number]
            if not alone or len(chunk.slots) > 1:
                last[chunk.work] = number
        for work, end in last.items():
            touched.update(number for number in self._of_work[work] if number <= end)
        return [self._chunks[number] for number in sorted(touched)]


def nodes_of(chunk: Chunk) -> list[int]:
    """The nodes on which the chunk's replicas are, each once."""
    if len(chunk.slots) == 1:
        spot = chunk.slots[0].spot
        return [] if spot is None else [spot.node]
    return sorted({slot.spot.node for slot in chunk.slots if slot.spot is not None})
