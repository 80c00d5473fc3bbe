"""Learn: what placement takes from a mix and from a cluster as it stands, between cycles."""

from corral.core.mixes import Mix
from corral.scheduling.config import Config
from corral.scheduling.engine import cycles_of
from corral.scheduling.snapshot import Snapshot


def learn(snapshot: Snapshot, pool: str) -> Mix:
    """The pool's mix with what is learnt from it and from what is free in the snapshot."""
    for cycle in cycles_of(snapshot, Config()):
        if cycle.pool.name == pool:
            return cycle.placer.learn(snapshot.mix.get(pool, Mix()))
    raise ValueError(f"the snapshot has no pool {pool!r}")
