"""Settled work: single-replica work that simply runs, kept as a row until an action needs more of it.

On a large cluster that is nearly everything, and most cycles neither move nor end it. What it holds is on the
board; slots and groups are made when it is woken.
"""

from collections.abc import Collection, Iterable, Iterator

from corral.core.workloads import Replica, ReplicaState, Workload
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.slots import SettledReplica


class SettledWork:
    """All settled workloads, by leaf queue and by name."""

    def __init__(self) -> None:
        self._in_queue: dict[QueueState, dict[str, SettledReplica]] = {}
        self._queue_of: dict[str, QueueState] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._queue_of)

    def add(self, queue: QueueState, rests: Iterable[SettledReplica]) -> None:
        """Some of one leaf queue."""
        added = {rest.workload.name: rest for rest in rests}
        self._in_queue.setdefault(queue, {}).update(added)
        self._queue_of.update(dict.fromkeys(added, queue))

    def pop(self, name: str) -> SettledReplica | None:
        """Removes one that gets its slots; None if it is not settled."""
        queue = self._queue_of.pop(name, None)
        return None if queue is None else self._in_queue[queue].pop(name)

    def of(self, queue: QueueState) -> Collection[SettledReplica]:
        """Those of a leaf queue."""
        rests = self._in_queue.get(queue)
        return () if rests is None else rests.values()

    def move(self, after: list[int]) -> None:
        """The board's nodes have other numbers: `after` by the former ones."""
        for rests in self._in_queue.values():
            for name, rest in rests.items():
                node = after[rest.spot.node]
                if node != rest.spot.node:
                    rests[name] = rest._replace(spot=rest.spot._replace(node=node))


def settled_replica(workload: Workload) -> Replica | None:
    """The one replica of a workload that simply runs, and has nothing to do with others; None if it does."""
    if len(workload.groups) != 1 or workload.labels or workload.stale_since is not None:
        return None
    group = workload.groups[0]
    if len(group.replicas) != 1 or group.minimum not in _ALL_OF_ONE:
        return None
    if workload.topology is not None or group.topology is not None:
        return None
    replica = group.replicas[0]
    return replica if replica.state is ReplicaState.RUNNING and replica.node is not None else None


_ALL_OF_ONE = (None, 1)
