"""Preempt: higher priority takes from lower, inside a leaf queue or, where the pool says so, across them."""

from collections.abc import Sequence

from corral.core.plans import Action, SearchResult
from corral.scheduling.actions.takers import Failed, FailureScope, visit_takers
from corral.scheduling.actions.victim_order import Candidates
from corral.scheduling.actions.victim_search import search_victims
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.state.workload_state import Chunk, WorkState


def preempt(cycle: Cycle) -> None:
    """Strictly lower priority, preemptible, and past its minimum run time; fair share plays no part."""

    leaves = list(cycle.tree.leaves())
    began_by = {leaf: cycle.now - leaf.preempt_min_runtime for leaf in leaves if leaf.preempt_min_runtime}

    def attempt(taker: WorkState) -> Failed | None:
        chunk = taker.chunk()
        assert chunk is not None
        if cycle.guarantee_refusal(chunk) is not None:
            return Failed(SearchResult.NOT_ALLOWED, FailureScope.QUEUE)
        giving = leaves if cycle.pool.priority_across_queues else [taker.queue]
        candidates = Candidates(cycle, taker, giving, began_by, below=taker.priority)
        if not candidates.exist():
            return Failed(SearchResult.IMPOSSIBLE, FailureScope.PRIORITY)
        ended = search_victims(cycle, Action.PREEMPT, taker, candidates, _accept)
        return None if ended is None else Failed(ended)

    visit_takers(cycle, Action.PREEMPT, attempt)


def _accept(lost: Sequence[Chunk]) -> bool:  # noqa: ARG001 - who was a candidate may be lost
    return True
