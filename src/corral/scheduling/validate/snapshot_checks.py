"""Checks of a snapshot that its form cannot make: every wrong place is named, nothing is guessed."""

from collections.abc import Iterable, Iterator

from corral.core.nodes import Node, Pool
from corral.core.queues import Queue
from corral.core.refusals import FieldError, Invalid
from corral.core.resources import UNLIMITED
from corral.core.workloads import Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.validate.check_helpers import named_once, numbered, quantities, unique
from corral.scheduling.validate.check_holds import check_holds
from corral.scheduling.validate.check_links import check_links
from corral.scheduling.validate.check_mig import MigChecker, check_device
from corral.scheduling.validate.check_mix import check_mixes
from corral.scheduling.validate.check_topology import TopologyChecker, check_levels
from corral.scheduling.validate.snapshot import Snapshot

_HOLDING = {ReplicaState.RUNNING, ReplicaState.RELEASING, ReplicaState.STUCK}


def check_snapshot(snapshot: Snapshot) -> None:
    """Raises `Invalid` with one error per wrong place."""
    errors = [
        *_pools(snapshot),
        *_nodes(snapshot),
        *_queues(snapshot),
        *_workloads(snapshot),
        *check_mixes(snapshot),
        *check_holds(snapshot, _devices_of_pools(snapshot)),
    ]
    if errors:
        count = f"{len(errors)} place{'s are' if len(errors) > 1 else ' is'} wrong"
        raise Invalid(
            f"The snapshot cannot be used: {count}.", "Correct the places that are named.", errors=errors
        )


def _pools(snapshot: Snapshot) -> Iterator[FieldError]:
    yield from unique("pools", (pool.name for pool in snapshot.pools))
    if not snapshot.pools:
        yield FieldError("pools", "There is no pool.", "Name at least one pool, or leave the field out.")
    for place, pool in numbered("pools", snapshot.pools):
        if pool.unit_gpu_milli < 1:
            yield FieldError(f"{place}.unit_gpu_milli", "The unit of division is below 1.", "Use 1 to 1000.")
        yield from unique(f"{place}.topologies", (topology.name for topology in pool.topologies))
        for at, topology in numbered(f"{place}.topologies", pool.topologies):
            yield from check_levels(at, topology)
        yield from quantities(place, reservations=pool.reservations)


def pools_of(node: Node, pools: Iterable[Pool]) -> list[str]:
    """The names of the pools whose labels a node carries."""
    return [
        pool.name
        for pool in pools
        if all(node.labels.get(key) == value for key, value in pool.labels.items())
    ]


def _devices_of_pools(snapshot: Snapshot) -> dict[str, int]:
    devices = {pool.name: 0 for pool in snapshot.pools}
    for node in snapshot.nodes:
        for name in pools_of(node, snapshot.pools):
            devices[name] += len(node.devices)
    return devices


def _nodes(snapshot: Snapshot) -> Iterator[FieldError]:
    yield from unique("nodes", (node.name for node in snapshot.nodes))
    for place, node in numbered("nodes", snapshot.nodes):
        yield from quantities(place, cpu_milli=node.cpu_milli, memory_mib=node.memory_mib, pods=node.pods)
        yield from unique(f"{place}.devices", (device.id for device in node.devices), "id")
        for at, device in numbered(f"{place}.devices", node.devices):
            yield from quantities(at, least=1, memory_mib=device.memory_mib)
            yield from check_device(at, device)
        yield from check_links(place, node)
        found = pools_of(node, snapshot.pools)
        if len(found) != 1:
            where = f"in the pools {', '.join(found)}" if found else "in no pool"
            yield FieldError(
                f"{place}.labels", f"The node is {where}.", "Give it the labels of exactly one pool."
            )


def _queues(snapshot: Snapshot) -> Iterator[FieldError]:
    yield from unique("queues", (queue.name for queue in snapshot.queues))
    by_name = {queue.name: queue for queue in snapshot.queues}
    pools = {pool.name for pool in snapshot.pools}
    for place, queue in numbered("queues", snapshot.queues):
        if queue.parent is not None and queue.parent not in by_name:
            yield FieldError(f"{place}.parent", f"There is no queue {queue.parent!r}.", "Name a queue.")
        elif _is_in_cycle(queue, by_name):
            yield FieldError(f"{place}.parent", f"{queue.name!r} is above itself.", "Break the cycle.")
        for pool, quotas in queue.quotas.items():
            if pool not in pools:
                yield FieldError(f"{place}.quotas.{pool}", f"There is no pool {pool!r}.", "Name a pool.")
            for resource, quota in quotas.items():
                at = f"{place}.quotas.{pool}.{resource}"
                yield from quantities(at, least=UNLIMITED, guarantee=quota.guarantee, limit=quota.limit)
                yield from quantities(at, weight=quota.weight, usage_ppm=quota.usage_ppm)
        for name in ("reclaim_min_runtime_seconds", "preempt_min_runtime_seconds"):
            yield from quantities(place, **{name: getattr(queue, name) or 0})
        yield from _run_times(place, typical_runtime_seconds=queue.typical_runtime_seconds)
        for name in ("runtimes_seconds", "limit_uses_milli"):
            yield from _growing(f"{place}.{name}", getattr(queue, name))


def _is_in_cycle(queue: Queue, by_name: dict[str, Queue]) -> bool:
    visited = set()
    above = queue.parent
    while above is not None and above in by_name and above not in visited:
        if above == queue.name:
            return True
        visited.add(above)
        above = by_name[above].parent
    return False


def _workloads(snapshot: Snapshot) -> Iterator[FieldError]:
    yield from unique("workloads", (workload.name for workload in snapshot.workloads))
    queues = {queue.name for queue in snapshot.queues}
    parents = {queue.parent for queue in snapshot.queues}
    pools = {pool.name for pool in snapshot.pools}
    checker = _WorkloadChecker(snapshot)
    for place, workload in numbered("workloads", snapshot.workloads):
        if workload.queue not in queues:
            yield FieldError(f"{place}.queue", f"There is no queue {workload.queue!r}.", "Name a queue.")
        elif workload.queue in parents:
            yield FieldError(
                f"{place}.queue", f"{workload.queue!r} has queues below it.", "Name a queue without any."
            )
        for index, pool in enumerate(workload.pools):
            if pool not in pools:
                yield FieldError(f"{place}.pools[{index}]", f"There is no pool {pool!r}.", "Name a pool.")
        if not workload.groups:
            yield FieldError(f"{place}.groups", "There is no group.", "Give it at least one group.")
        yield from quantities(
            place,
            created=workload.created,
            preemption_delay_seconds=workload.preemption_delay_seconds,
            stale_grace_seconds=workload.stale_grace_seconds or 0,
            waiting_since=workload.waiting_since or 0,
        )
        if workload.pool_patience_seconds is not None:
            yield from quantities(place, least=1, pool_patience_seconds=workload.pool_patience_seconds)
        yield from named_once(f"{place}.pools", workload.pools)
        yield from _run_times(
            place,
            runtime_limit_seconds=workload.runtime_limit_seconds,
            runtime_estimate_seconds=workload.runtime_estimate_seconds,
        )
        yield from checker.check(place, workload)


class _WorkloadChecker:
    """Checks the groups and replicas of workloads against the nodes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.nodes = {node.name: node for node in snapshot.nodes}
        self.largest_device = max(
            (device.memory_mib for node in snapshot.nodes for device in node.devices), default=0
        )
        self.pools = {node.name: pools_of(node, snapshot.pools) for node in snapshot.nodes}
        self.topologies = TopologyChecker(snapshot)
        self.mig = MigChecker(snapshot)

    def check(self, place: str, workload: Workload) -> Iterator[FieldError]:
        names: list[str] = []
        homes: set[str] = set()
        yield from self.topologies.check(f"{place}.topology", workload.topology, workload)
        for at, group in numbered(f"{place}.groups", workload.groups):
            yield from self._group(at, group, workload, names, homes)
        yield from unique(f"{place} (replicas)", names)
        if len(homes) > 1:
            yield FieldError(
                f"{place}.groups", f"It runs in the pools {', '.join(sorted(homes))}.", "Run it in one."
            )

    def _group(
        self, place: str, group: ReplicaGroup, workload: Workload, names: list[str], homes: set[str]
    ) -> Iterator[FieldError]:
        if bool(group.replicas) == bool(group.groups):
            yield FieldError(
                place, "A group has either replicas or groups.", "Give it one of the two, not both."
            )
        members = len(group.groups) or len(group.replicas)
        if group.minimum is not None and not 0 <= group.minimum <= members:
            yield FieldError(
                f"{place}.minimum",
                f"The minimum {group.minimum} is not between 0 and the {members} there are.",
                "Lower the minimum, or add replicas.",
            )
        yield from self._request(f"{place}.request", group.request)
        yield from self.topologies.check_affinity(f"{place}.request", group.request, workload)
        yield from self.topologies.check(f"{place}.topology", group.topology, workload)
        for at, below in numbered(f"{place}.groups", group.groups):
            yield from self._group(at, below, workload, names, homes)
        for at, replica in numbered(f"{place}.replicas", group.replicas):
            names.append(replica.name)
            if replica.request is not None:
                yield from self._request(f"{at}.request", replica.request)
            yield from self._replica(at, replica, replica.request or group.request, workload, homes)
            if replica.request is not None:
                yield from self.topologies.check_affinity(f"{at}.request", replica.request, workload)

    def _request(self, place: str, request: Request) -> Iterator[FieldError]:
        yield from quantities(place, cpu_milli=request.cpu_milli, memory_mib=request.memory_mib)
        wanted = request.devices
        if wanted is None:
            return
        at = f"{place}.devices"
        yield from quantities(at, least=1, count=wanted.count)
        yield from self.mig.check_request(at, wanted)
        if wanted.memory_mib is not None and wanted.fraction_milli is not None:
            yield FieldError(at, "A slice is asked for by memory and by fraction.", "Use one of the two.")
        if wanted.memory_mib is not None:
            yield from quantities(at, least=1, memory_mib=wanted.memory_mib)
            if wanted.memory_mib > self.largest_device:
                yield FieldError(
                    f"{at}.memory_mib",
                    f"The slice of {wanted.memory_mib} MiB is larger than any device"
                    f" ({self.largest_device} MiB).",
                    "Ask for a smaller slice, or for whole devices.",
                )
        if wanted.fraction_milli is not None and not 1 <= wanted.fraction_milli <= 1000:
            yield FieldError(f"{at}.fraction_milli", "It is not between 1 and 1000.", "Use 1 to 1000.")
        if not 0 <= wanted.compute_percent <= 100:
            yield FieldError(f"{at}.compute_percent", "It is not between 0 and 100.", "Use 0 to 100.")

    def _replica(
        self, place: str, replica: Replica, request: Request, workload: Workload, homes: set[str]
    ) -> Iterator[FieldError]:
        if replica.state not in _HOLDING:
            if replica.node is not None or replica.devices:
                yield FieldError(
                    f"{place}.node", f"A {replica.state} replica is on no node.", "Leave it out."
                )
            return
        node = self.nodes.get(replica.node or "")
        if node is None:
            yield FieldError(f"{place}.node", f"There is no node {replica.node!r}.", "Name its node.")
            return
        pools = self.pools[node.name]
        homes.update(pools)
        if workload.pools and not set(pools) & set(workload.pools):
            yield FieldError(f"{place}.node", f"{node.name!r} is in none of its pools.", "Add the pool.")
        count = request.devices.count if request.devices else 0
        if len(replica.devices) != count:
            yield FieldError(
                f"{place}.devices",
                f"It holds {len(replica.devices)} devices and asks for {count}.",
                "Name each device that it holds.",
            )
        ids = {device.id: device for device in node.devices}
        for index, use in enumerate(replica.devices):
            at = f"{place}.devices[{index}]"
            if use.device not in ids:
                yield FieldError(f"{at}.device", f"{node.name!r} has no device {use.device!r}.", "Name one.")
                continue
            wanted = request.devices.profile if request.devices else None
            yield from self.mig.check_use(at, use, node.name, ids[use.device], wanted)
            if use.memory_mib is not None and not 1 <= use.memory_mib <= ids[use.device].memory_mib:
                yield FieldError(
                    f"{at}.memory_mib", "It is not between 1 and the device's memory.", "Correct it."
                )


def _run_times(place: str, **seconds: int | None) -> Iterator[FieldError]:
    times = {name: value for name, value in seconds.items() if value is not None}
    yield from quantities(place, least=1, **times)


def _growing(place: str, numbers: tuple[int, ...]) -> Iterator[FieldError]:
    for index, number in enumerate(numbers):
        least = numbers[index - 1] if index else 0
        if number < least:
            yield FieldError(f"{place}[{index}]", f"{number} is below {least}.", "Let them grow, from 0 on.")
