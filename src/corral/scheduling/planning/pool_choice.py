"""Pools: in which one a workload counts as wanted.

Where it runs; else the first of its choices in which each of its replicas could run on an empty node. With
patience it moves on to the next such pool each time it has waited that long, and stays in the last.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from corral.core.nodes import Node
from corral.core.workloads import Replica, ReplicaGroup, Request, Workload
from corral.scheduling.state.request_classes import RequestClass, request_key, type_key


class PoolChoice:
    """Knows what could run where; `forget` it when a pool's nodes change."""

    def __init__(self, pools: Iterable[str], nodes: Mapping[str, Node], pool_of: Mapping[str, str]) -> None:
        self._pools = tuple(pools)
        self._nodes = nodes
        self._pool_of = pool_of
        self._cache: dict[tuple[str, type_key], bool] = {}

    def forget(self) -> None:
        self._cache.clear()

    def has_choice(self, workload: Workload) -> bool:
        """Whether it waits, and more than one pool is open to it."""
        return len(workload.pools or self._pools) > 1 and self._home(workload) is None

    def pool_for(self, workload: Workload, now: int | None = None) -> str:
        """The pool in which a workload counts; without `now` as if it had only begun to wait."""
        choices = workload.pools or self._pools
        if choices is self._pools and len(choices) == 1:
            return choices[0]
        home = self._home(workload)
        if home is not None:
            return home
        if len(choices) == 1:
            return choices[0]
        requests = {id(request): request for request in requests_of(workload)}.values()
        able = [pool for pool in choices if all(self._could_run(pool, each) for each in requests)]
        return _after_waiting(able or choices[:1], workload, now)

    def _home(self, workload: Workload) -> str | None:
        for replica in replicas_of(workload):
            if replica.node is not None and replica.node in self._pool_of:
                return self._pool_of[replica.node]
        return None

    def _could_run(self, pool: str, request: Request) -> bool:
        key = pool, request_key(request)
        cached = self._cache.get(key)
        if cached is None:
            nodes = [node for name, node in self._nodes.items() if self._pool_of[name] == pool]
            request_class = RequestClass(0, request, ())
            cached = self._cache[key] = any(_holds(node, request_class) for node in nodes)
        return cached


def _after_waiting(pools: Sequence[str], workload: Workload, now: int | None) -> str:
    patience = workload.pool_patience_seconds
    if patience is None or now is None:
        return pools[0]
    began = workload.created if workload.waiting_since is None else workload.waiting_since
    return pools[min(len(pools) - 1, max(0, now - began) // patience)]


def _holds(node: Node, request: RequestClass) -> bool:
    """Whether an empty node could take one replica."""
    return (
        request.allowed_on(node)
        and request.cpu_milli <= node.cpu_milli
        and request.memory_mib <= node.memory_mib
        and node.pods > 0
        and sum(request.takes_device(device) for device in node.devices) >= request.count
    )


def requests_of(workload: Workload) -> Iterator[Request]:
    """What each replica asks for, group by group."""

    def walk(group: ReplicaGroup) -> Iterator[Request]:
        for replica in group.replicas:
            yield replica.request or group.request
        for below in group.groups:
            yield from walk(below)

    for group in workload.groups:
        yield from walk(group)


def replicas_of(workload: Workload) -> Iterator[Replica]:
    """All replicas, group by group."""

    def walk(group: ReplicaGroup) -> Iterator[Replica]:
        yield from group.replicas
        for below in group.groups:
            yield from walk(below)

    for group in workload.groups:
        yield from walk(group)
