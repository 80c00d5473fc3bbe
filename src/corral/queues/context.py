"""What the routes of queues need beside the database, made once at start."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from corral.api.parts import using
from corral.queues.use import UseOfQueues


@dataclass(frozen=True, slots=True)
class QueueContext:
    """`kinds` are the names of the kinds of work that flavors can be offered for."""

    use: UseOfQueues | None = None
    kinds: tuple[str, ...] = ()


QueuesHere = Annotated[QueueContext, Depends(using(QueueContext))]
