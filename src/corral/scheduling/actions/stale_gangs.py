"""Evict stale gangs: a gang below its minimum for too long gives its resources back."""

from corral.core.plans import Action
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.state.workload_state import WorkState


def evict_stale_gangs(cycle: Cycle) -> None:
    """Members that succeeded count as present; what this cycle completes is whole again."""
    for work in cycle.workload_index.below_minimum:
        if _is_stale(cycle, work):
            for slot in work.slots:
                if slot.active:
                    was_running = slot.new is None
                    cycle.board.take(slot)
                    if was_running:
                        cycle.taken_for[slot] = Action.EVICT_STALE_GANGS, None


def _is_stale(cycle: Cycle, work: WorkState) -> bool:
    grace, since = work.workload.stale_grace_seconds, work.workload.stale_since
    if grace is None or since is None or cycle.now - since < grace:
        return False
    return not work.satisfied and any(leaf.active for leaf in work.leaves)
