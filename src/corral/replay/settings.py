"""How the simulated place behaves, and what the loop does for it."""

from dataclasses import dataclass

from corral.engines.simulated import NO_FAULTS, Faults
from corral.replay.attained import NO_LEVELS, Levels


@dataclass(frozen=True, slots=True)
class Settings:
    """How the simulated place behaves.

    `cycle_seconds` is the least time between two cycles, `heartbeat_seconds` the most while work waits.
    A release that takes `overdue_seconds` longer than the grace is stuck. With `estimates`, work that does
    not start at once is told when it will; with `learns`, run times are learnt per queue from what finished.
    """

    grace_seconds: int = 30
    save_seconds: int = 30
    start_seconds: int = 0
    resume_seconds: int = 0
    cycle_seconds: int = 10
    heartbeat_seconds: int = 3600
    overdue_seconds: int = 60
    levels: Levels = NO_LEVELS
    estimates: bool = False
    learns: bool = False
    faults: Faults = NO_FAULTS
    seed: int = 0
