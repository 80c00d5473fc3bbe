"""Consolidate: move work together so that a taker fits; nobody loses anything."""

from collections.abc import Sequence

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.search import take_for
from corral.scheduling.takers import Failed, Reach, barred, take_turns
from corral.scheduling.victims import Candidates
from corral.scheduling.work import Chunk, WorkState


def consolidate(cycle: Cycle) -> None:
    """For preemptible takers, if what is idle or leaving would suffice in sum."""
    leaves = list(cycle.tree.leaves())

    def attempt(taker: WorkState) -> Failed | None:
        chunk = taker.chunk()
        assert chunk is not None
        # Work that moves is charged as before: no limit gives way.
        if cycle.refusal(chunk) is not None:
            return Failed(SearchResult.NOT_ALLOWED, Reach.QUEUE)
        idle = cycle.placer.capacity.idle()
        if any(asked > left for asked, left in zip(chunk.amount, idle, strict=True)):
            return Failed(SearchResult.IMPOSSIBLE, Reach.POOL)
        candidates = Candidates(cycle, taker, leaves)
        if (failed := barred(cycle, chunk, candidates)) is not None:
            return failed
        ended = take_for(cycle, Action.CONSOLIDATE, taker, candidates, _nothing_lost)
        return None if ended is None else Failed(ended)

    take_turns(cycle, Action.CONSOLIDATE, attempt, preemptible=True)


def _nothing_lost(lost: Sequence[Chunk]) -> bool:
    return not lost
