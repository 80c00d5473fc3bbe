"""Failed searches: a taker in the same position as one that failed gets the same answer.

Two takers of a queue have the same position if they ask for the same at the same priority, hold nothing yet,
and the workloads before them in their queue ask for the same amounts: a rehearsal skips other pending work,
and only what it asks for decides when. The first success forgets the answers.
"""

from collections.abc import Hashable

from corral.core.plans import Action
from corral.core.resources import Amount
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.workload_state import Chunk, WorkState


def search_key(cycle: Cycle, action: Action, chunk: Chunk) -> Hashable:
    """Equal for takers that stand alike; None for those that are like no other."""
    taker = chunk.work
    if (
        cycle.guards
        or cycle.pool.priority_across_queues
        or taker.bond is not None
        or taker.affinity_counts is not None
    ):
        return None
    if any(leaf.active for leaf in taker.leaves):
        return None
    # Consolidation may move work of the taker's own queue: all of it must wait before the taker.
    if action is Action.CONSOLIDATE and taker.created <= _youngest_in(cycle, taker.queue):
        return None
    amounts = _amounts_before(cycle, action, taker)
    if not _is_chain([*amounts, chunk.amount]):
        return None
    requests = tuple((slot.request.index, slot.group.preemptible) for slot in chunk.slots)
    before = tuple(amount for amount in amounts if amount != chunk.amount)
    return action, taker.queue.name, taker.priority, requests, before


def _amounts_before(cycle: Cycle, action: Action, taker: WorkState) -> list[Amount]:
    """The different amounts asked for before the taker in its queue, by where they come first.

    The takers of a queue come in its own order, so the walk goes on where it ended.
    """
    waiting = cycle.victim_index.waiting().get(taker.queue, [])
    number, amounts = cycle.victim_index.walks.get((action, taker.queue), (0, []))
    while number < len(waiting) and waiting[number][1] is not taker:
        chunk = waiting[number][1].chunk()
        if chunk is not None and chunk.amount not in amounts:
            amounts.append(chunk.amount)
        number += 1
    cycle.victim_index.walks[action, taker.queue] = number, amounts
    return amounts


def _youngest_in(cycle: Cycle, leaf: QueueState) -> int:
    """When the youngest was made of those from whom something could perhaps be taken."""
    youngest = cycle.victim_index.youngest.get(leaf)
    if youngest is None:
        settled = (rest.workload.created for rest in cycle.settled(leaf) if rest.preemptible)
        others = (work.created for work in cycle.may_give(leaf) if work.may_give)
        youngest = cycle.victim_index.youngest[leaf] = max((*settled, *others), default=-1)
    return youngest


def _is_chain(amounts: list[Amount]) -> bool:
    """Whether of any two one is at most the other in everything."""
    return all(
        all(a <= b for a, b in zip(one, other, strict=True))
        or all(a >= b for a, b in zip(one, other, strict=True))
        for index, one in enumerate(amounts)
        for other in amounts[:index]
    )
