"""The states of a workload, and what a person wants of it."""

from enum import StrEnum


class State(StrEnum):
    """`suspended` waits for its turn like `queued`, unless a person suspended it.

    `infeasible` could not run even alone on everything that there is: it has no turn until that changes.
    """

    QUEUED = "queued"
    INFEASIBLE = "infeasible"
    STARTING = "starting"
    RUNNING = "running"
    SUSPENDING = "suspending"
    SUSPENDED = "suspended"
    STOPPING = "stopping"
    STOPPED = "stopped"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DELETED = "deleted"


class Wanted(StrEnum):
    """What a person asked for last; reconciling makes it true."""

    RUN = "run"
    SUSPEND = "suspend"
    STOP = "stop"


OVER = frozenset({State.STOPPED, State.SUCCEEDED, State.FAILED, State.DELETED})
WAITING = frozenset({State.QUEUED, State.SUSPENDED})
"""Nothing of it is on any node, and it may get a place."""
UNPLACED = WAITING | {State.INFEASIBLE}
"""Nothing of it is on any node, and it is not over."""
LEAVING = frozenset({State.SUSPENDING, State.STOPPING})
PRESENT = frozenset({State.STARTING, State.RUNNING}) | LEAVING
"""An attempt is live: something of it may be on a node."""
