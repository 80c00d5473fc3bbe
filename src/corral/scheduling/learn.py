"""Learn: what placement takes from a mix and from a cluster as it stands, between cycles."""

from corral.core.mixes import Mix
from corral.scheduling.engine import Engine
from corral.scheduling.snapshot import Snapshot


def learn(snapshot: Snapshot, pool: str) -> Mix:
    """The pool's mix with what is learnt from it and from what is free in the snapshot."""
    return Engine(snapshot).learn(pool, snapshot.mix.get(pool, Mix()))
