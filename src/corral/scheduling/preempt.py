"""Preempt: higher priority takes from lower, inside a leaf queue or, where the pool says so, across them."""

from collections.abc import Sequence

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.search import take_for
from corral.scheduling.takers import ran_long_enough, take_turns, victims_of_any_queue
from corral.scheduling.work import Chunk, WorkState


def preempt(cycle: Cycle) -> None:
    """Strictly lower priority, preemptible, and past its minimum run time; fair share plays no part."""

    def attempt(taker: WorkState) -> SearchResult | None:
        candidates = [
            work
            for work in victims_of_any_queue(cycle, taker)
            if (work.queue is taker.queue or cycle.pool.priority_across_queues)
            and work.priority < taker.priority
            and ran_long_enough(cycle, work, work.queue.preempt_min_runtime)
        ]
        return take_for(cycle, Action.PREEMPT, taker, candidates, _accept)

    take_turns(cycle, Action.PREEMPT, cycle.pending(), attempt)


def _accept(lost: Sequence[Chunk]) -> bool:  # noqa: ARG001 - who was a candidate may be lost
    return True
