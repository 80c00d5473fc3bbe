"""Learning a mix from arrivals and from a cluster as it stands, between cycles."""

from corral.core.mixes import Mix
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.validate.snapshot import Snapshot


def learn(snapshot: Snapshot, pool: str) -> Mix:
    """The pool's mix with what is learnt from it and from what is free in the snapshot."""
    return PlannerState(snapshot).learn(pool, snapshot.mix.get(pool, Mix()))
