"""How many may look into one person's work at a time, whoever they are and however many runs it has."""

from dataclasses import dataclass

from corral.core.concurrency import ConcurrencyLimit

_WHO = "The owner of this work has"


@dataclass(frozen=True, slots=True)
class Bounds:
    """For each person. They are wider than those of the API, which counts by caller."""

    dials: int = 256
    sessions: int = 32
    streams: int = 128


DEFAULT_BOUNDS = Bounds()


class SessionLimits:
    """What is open in the work of each person."""

    def __init__(self, bounds: Bounds) -> None:
        self.dials = ConcurrencyLimit(
            bounds.dials, "connections to ports of work", "Close some of them, then try again.", who=_WHO
        )
        self.sessions = ConcurrencyLimit(
            bounds.sessions, "commands in running work", "Leave some of them, then try again.", who=_WHO
        )
        self.streams = ConcurrencyLimit(
            bounds.streams, "streams of output", "Stop following some of them, then try again.", who=_WHO
        )
