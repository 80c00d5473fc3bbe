"""Consolidate: move work together so that a taker fits; nobody loses anything."""

from collections.abc import Sequence

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.search import take_for
from corral.scheduling.takers import take_turns
from corral.scheduling.victims import Candidates
from corral.scheduling.work import Chunk, WorkState


def consolidate(cycle: Cycle) -> None:
    """For preemptible takers, if what is idle or leaving would suffice in sum."""
    leaves = list(cycle.tree.leaves())

    def attempt(taker: WorkState) -> SearchResult | None:
        chunk = taker.chunk()
        assert chunk is not None
        # Work that moves is charged as before: no limit gives way.
        if cycle.refusal(chunk) is not None:
            return SearchResult.NOT_ALLOWED
        idle = cycle.placer.capacity.idle()
        if any(asked > left for asked, left in zip(chunk.amount, idle, strict=True)):
            return SearchResult.IMPOSSIBLE
        candidates = Candidates(cycle, taker, leaves)
        return take_for(cycle, Action.CONSOLIDATE, taker, candidates, _nothing_lost)

    takers = [work for work in cycle.pending() if work.preemptible]
    take_turns(cycle, Action.CONSOLIDATE, takers, attempt)


def _nothing_lost(lost: Sequence[Chunk]) -> bool:
    return not lost
