"""Preempt: higher priority takes from lower, inside a leaf queue or, where the pool says so, across them."""

from collections.abc import Sequence

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.search import take_for
from corral.scheduling.takers import Failed, Reach, take_turns
from corral.scheduling.victims import Candidates
from corral.scheduling.work import Chunk, WorkState


def preempt(cycle: Cycle) -> None:
    """Strictly lower priority, preemptible, and past its minimum run time; fair share plays no part."""

    leaves = list(cycle.tree.leaves())
    began_by = {leaf: cycle.now - leaf.preempt_min_runtime for leaf in leaves if leaf.preempt_min_runtime}

    def attempt(taker: WorkState) -> Failed | None:
        chunk = taker.chunk()
        assert chunk is not None
        if cycle.guarantee_refusal(chunk) is not None:
            return Failed(SearchResult.NOT_ALLOWED, Reach.QUEUE)
        giving = leaves if cycle.pool.priority_across_queues else [taker.queue]
        candidates = Candidates(cycle, taker, giving, began_by, below=taker.priority)
        if not candidates.exist():
            return Failed(SearchResult.IMPOSSIBLE, Reach.PRIORITY)
        ended = take_for(cycle, Action.PREEMPT, taker, candidates, _accept)
        return None if ended is None else Failed(ended)

    take_turns(cycle, Action.PREEMPT, attempt)


def _accept(lost: Sequence[Chunk]) -> bool:  # noqa: ARG001 - who was a candidate may be lost
    return True
