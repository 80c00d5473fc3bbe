"""What the routes of queues need beside the database, made once at start."""

from dataclasses import dataclass

from corral.queues.use import UseOfQueues


@dataclass(frozen=True, slots=True)
class QueueContext:
    use_of_queues: UseOfQueues | None = None
