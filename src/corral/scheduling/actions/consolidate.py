"""Consolidate: move work together so that a taker fits; nobody loses anything."""

from collections.abc import Sequence

from corral.core.plans import Action, SearchResult
from corral.scheduling.actions.takers import Failed, FailureScope, refusal_before_search, visit_takers
from corral.scheduling.actions.victim_order import Candidates
from corral.scheduling.actions.victim_search import search_victims
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.state.workload_state import Chunk, WorkState


def consolidate(cycle: Cycle) -> None:
    """For preemptible takers, if what is idle or leaving would suffice in sum."""
    leaves = list(cycle.tree.leaves())

    def attempt(taker: WorkState) -> Failed | None:
        chunk = taker.chunk()
        assert chunk is not None
        # Work that moves is charged as before: no limit gives way.
        if cycle.refusal(chunk) is not None:
            return Failed(SearchResult.NOT_ALLOWED, FailureScope.QUEUE)
        idle = cycle.placer.capacity.idle()
        if any(amount > left for amount, left in zip(chunk.amount, idle, strict=True)):
            return Failed(SearchResult.IMPOSSIBLE, FailureScope.POOL)
        candidates = Candidates(cycle, taker, leaves)
        if (failed := refusal_before_search(cycle, chunk, candidates)) is not None:
            return failed
        ended = search_victims(cycle, Action.CONSOLIDATE, taker, candidates, _nothing_lost)
        return None if ended is None else Failed(ended)

    visit_takers(cycle, Action.CONSOLIDATE, attempt, preemptible=True)


def _nothing_lost(lost: Sequence[Chunk]) -> bool:
    return not lost
