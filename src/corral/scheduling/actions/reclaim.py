"""Reclaim: a queue inside its fair share takes back from queues that hold more than theirs."""

from collections.abc import Iterable, Mapping, Sequence

from corral.core.plans import Action, Entitlement, SearchResult
from corral.scheduling.actions.takers import Failed, FailureScope, refusal_before_search, visit_takers
from corral.scheduling.actions.victim_order import Candidates
from corral.scheduling.actions.victim_search import search_victims
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.state.queue_tree import GPU, QueueState, lowest_common
from corral.scheduling.state.workload_state import Chunk, WorkState


def reclaim(cycle: Cycle) -> None:
    """Between queues; the taker's queue must end inside its fair share."""

    leaves = list(cycle.tree.leaves())
    timed = any(queue.reclaim_min_runtime for leaf in leaves for queue in leaf.path)

    def attempt(taker: WorkState) -> Failed | None:
        chunk = taker.chunk()
        assert chunk is not None
        leaf = taker.queue
        if any(leaf.allocated[kind] + chunk.amount[kind] > leaf.fair[kind] for kind in leaf.divided):
            return Failed(SearchResult.NOT_ALLOWED, FailureScope.QUEUE)
        rules = ReclaimRules(taker, chunk)
        giving = [queue for queue in leaves if queue is not leaf and rules.may_lose(queue, {})]
        rules.remember(giving)
        candidates = Candidates(cycle, taker, giving, _began_by(cycle.now, leaf, giving) if timed else {})
        if (failed := refusal_before_search(cycle, chunk, candidates)) is not None:
            return failed
        entitlement = _entitlement(leaf, chunk)
        ended = search_victims(cycle, Action.RECLAIM, taker, candidates, rules.accept, rules.most_lost)
        if ended is not None:
            return Failed(ended)
        cycle.entitlements[taker.name] = entitlement
        return None

    visit_takers(cycle, Action.RECLAIM, attempt)


def _entitlement(leaf: QueueState, chunk: Chunk) -> Entitlement:
    """What the queue reclaims with a chunk, before anything changes hands."""
    for kind in leaf.divided:
        if chunk.amount[kind] and leaf.allocated[kind] + chunk.amount[kind] > leaf.guarantee[kind]:
            return Entitlement.SURPLUS
    return Entitlement.GUARANTEE


def _began_by(now: int, taker: QueueState, giving: Iterable[QueueState]) -> dict[QueueState, int]:
    """By when work of each leaf must have begun; what the side says that loses, not a queue below it.

    Between departments the departments decide: a team cannot shield what it holds over the share of its own.
    """
    runtimes = {leaf: lowest_common(taker, leaf)[1].reclaim_min_runtime for leaf in giving}
    return {leaf: now - seconds for leaf, seconds in runtimes.items() if seconds}


class ReclaimRules:
    """Who may lose what to one taker, judged by the state before the trial."""

    def __init__(self, taker: WorkState, chunk: Chunk) -> None:
        self._leaf = taker.queue
        self._chunk = chunk
        self._before: dict[QueueState, list[int]] = {}

    def remember(self, giving: Iterable[QueueState]) -> None:
        """Keeps what every queue involved holds now: trials change it."""
        for leaf in (self._leaf, *giving):
            for queue in leaf.path:
                self._before.setdefault(queue, list(queue.allocated))

    def may_lose(self, leaf: QueueState, gone: dict[QueueState, list[int]]) -> bool:
        """Whether one more chunk may go from `leaf` after `gone`; the chunk itself may reach below."""
        if not leaf.exceeds(leaf.guarantee, self._left(leaf, gone)):
            return False
        own, side = lowest_common(self._leaf, leaf)
        left = self._left(side, gone)
        if side.exceeds(side.allocatable, left):
            return True
        return self._stays_inside(own) and side.exceeds(side.guarantee, left)

    def most_lost(self, largest: Mapping[QueueState, int]) -> int | None:
        """How many milli-GPU may go in sum, at most; None if GPUs are not all that decides.

        `largest` has the largest workload of each leaf that may lose something: the last one may reach
        below the bound.
        """
        leaves: dict[QueueState, int] = {}
        sides: dict[QueueState, int] = {}
        for leaf, gpu_milli in largest.items():
            own, side = lowest_common(self._leaf, leaf)
            bound = side.allocatable
            if self._stays_inside(own):
                bound = [min(pair) for pair in zip(bound, side.guarantee, strict=True)]
            if _exceeds_more_than_gpu(leaf, leaf.guarantee) or _exceeds_more_than_gpu(side, bound):
                return None
            leaves[side] = leaves.get(side, 0) + leaf.allocated[GPU] - leaf.guarantee[GPU] - 1 + gpu_milli
            most = side.allocated[GPU] - bound[GPU] - 1 + gpu_milli
            sides[side] = max(sides.get(side, 0), most)
        return sum(min(leaves[side], sides[side]) for side in sides)

    def accept(self, lost: Sequence[Chunk]) -> bool:
        gone: dict[QueueState, list[int]] = {}
        for chunk in lost:
            if not self.may_lose(chunk.work.queue, gone):
                return False
            for queue in chunk.work.queue.path:
                total = gone.setdefault(queue, [0, 0, 0])
                for kind, amount in enumerate(chunk.amount):
                    total[kind] += amount
        return not any(self._ends_more_saturated(queue, gone) for queue in self._leaf.path)

    def _ends_more_saturated(self, queue: QueueState, gone: dict[QueueState, list[int]]) -> bool:
        """Whether the taker's side ends over its fair share, and further over than a sibling that lost."""
        for kind in queue.divided:
            allocated, fair = queue.allocated[kind], queue.fair[kind]
            if allocated <= fair:
                continue
            for other in gone:
                beside = other.parent is queue.parent and other is not queue
                if beside and allocated * other.fair[kind] > other.allocated[kind] * fair:
                    return True
        return False

    def _stays_inside(self, own: QueueState) -> bool:
        """Whether the taker's side stays within its guarantee with the chunk."""
        allocated = self._before.get(own, own.allocated)
        return all(allocated[kind] + self._chunk.amount[kind] <= own.guarantee[kind] for kind in own.divided)

    def _left(self, queue: QueueState, gone: dict[QueueState, list[int]]) -> list[int]:
        allocated = self._before.get(queue, queue.allocated)
        lost = gone.get(queue)
        return allocated if lost is None else [allocated[kind] - lost[kind] for kind in range(3)]


def _exceeds_more_than_gpu(queue: QueueState, bounds: Sequence[int]) -> bool:
    return any(queue.allocated[kind] > bounds[kind] for kind in queue.divided if kind != GPU)
