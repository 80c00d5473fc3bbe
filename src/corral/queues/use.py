"""What queues use: reported by whoever keeps work, summed up the tree here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from corral.core.queues import Queue
from corral.core.resources import NOTHING, Amount
from corral.store.database import Transaction

# By queue and pool.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Use:
    """What the work of a queue holds, and what it waits for, where that is known."""

    held: Amount = NOTHING
    wanted: Amount | None = None

    def plus(self, other: "Use") -> "Use":
        known = [one for one in (self.wanted, other.wanted) if one is not None]
        return Use(self.held.plus(other.held), reduce(Amount.plus, known) if known else None)


# The use of the leaves; what they do not name, they do not use.
UseOfQueues = Callable[[Transaction], Mapping[Place, Use]]


def with_those_below(queues: Sequence[Queue], leaves: Mapping[Place, Use]) -> dict[Place, Use]:
    """The use of every queue in every pool: its own and that of all below it."""
    parents = {queue.name: queue.parent for queue in queues}
    found: dict[Place, Use] = {}
    for (name, pool), use in leaves.items():
        above: str | None = name
        while above is not None:
            found[above, pool] = found.get((above, pool), Use()).plus(use)
            above = parents.get(above)
    return found
