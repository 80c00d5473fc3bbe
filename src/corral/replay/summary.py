"""What came of a replay, in numbers: for all work and for every queue."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corral.core.resources import WHOLE_DEVICE_MILLI, Amount, Resource
from corral.replay.jobs import Cluster
from corral.replay.record import JobRecord, Recording
from corral.replay.series import Means, capacity_means, edges_of, interval_means
from corral.scheduling.state.queue_tree import GPU, QueueTree

INTERVALS = 1000
_MILLI_HOUR = WHOLE_DEVICE_MILLI * 3600


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and percentiles of a duration, in seconds; None where nothing has one."""

    mean: float | None
    p50: int | None
    p90: int | None
    p99: int | None
    longest: int | None


@dataclass(frozen=True, slots=True)
class WorkSummary:
    """`wait` is until the first start; `waited` is all time without a place, also after evictions.

    `of_share_percent` is how much of the share that the queue was entitled to it also held.
    """

    queue: str | None
    guarantee_gpus: float | None
    workloads: int
    started: int
    finished: int
    wait: Spread
    waited: Spread
    completion: Spread
    evictions: int
    lost_gpu_hours: float
    held_gpu_hours: float
    of_share_percent: float | None

    @property
    def never_started(self) -> int:
        return self.workloads - self.started


@dataclass(frozen=True, slots=True)
class Summary:
    """`allocated_percent` is until the last arrival; `fragmented_percent` is the part of what was idle that
    stood on nodes that were partly used."""

    policy: str
    gpus: int
    seconds: int
    allocated_percent: float
    fragmented_percent: float
    evictions_by_rule: dict[str, int]
    refused_starts: int
    lost_runs: int
    stuck_releases: int
    cycles: int
    plan_cpu_seconds: float
    all: WorkSummary
    queues: tuple[WorkSummary, ...]


def summarise(policy: str, cluster: Cluster, recording: Recording) -> Summary:
    edges = edges_of(recording, INTERVALS)
    held = interval_means(recording.held, len(recording.queues), edges)
    waiting = interval_means(recording.waiting, len(recording.queues), edges)
    capacity = capacity_means(recording, edges)
    shares = received_shares(cluster, recording.queues, held, waiting, capacity)
    hours = held.sum(axis=1) * (edges[1] - edges[0]) / _MILLI_HOUR
    guarantees = _guarantees(cluster)
    of_queue: dict[str, list[JobRecord]] = {name: [] for name in recording.queues}
    for record in recording.jobs:
        of_queue[record.job.queue].append(record)
    queues = tuple(
        _work(name, guarantees.get(name), of_queue[name], float(hours[number]), shares[number])
        for number, name in enumerate(recording.queues)
        if of_queue[name] or guarantees.get(name)
    )
    idle = recording.fragments.idle_milli_seconds
    return Summary(
        policy=policy,
        gpus=recording.capacity_milli // WHOLE_DEVICE_MILLI,
        seconds=recording.ended - recording.began,
        allocated_percent=_percent(float(held.sum()), float(capacity.sum())) or 0.0,
        fragmented_percent=_percent(recording.fragments.broken_milli_seconds, idle) or 0.0,
        evictions_by_rule={rule.value: count for rule, count in sorted(recording.evictions_by.items())},
        refused_starts=recording.refused_starts,
        lost_runs=recording.lost_runs,
        stuck_releases=recording.stuck_releases,
        cycles=recording.cycles,
        plan_cpu_seconds=round(recording.plan_cpu_seconds, 3),
        all=_work(None, None, recording.jobs, float(hours.sum()), None),
        queues=queues,
    )


def received_shares(
    cluster: Cluster, queues: Sequence[str], held: Means, waiting: Means, capacity: Means
) -> list[float | None]:
    """Of what division gives each queue for its demand, interval by interval, the part that it held."""
    tree = QueueTree(cluster.queues, cluster.pools[0].name)
    known = [(number, tree.by_name[name]) for number, name in enumerate(queues) if name in tree.by_name]
    entitled = np.zeros_like(held)
    demand = np.rint(held + waiting).astype(np.int64)
    for interval in range(held.shape[1]):
        for queue in tree.by_name.values():
            queue.waiting_demand[GPU] = 0
        for number, leaf in known:
            for queue in leaf.path:
                queue.waiting_demand[GPU] += int(demand[number, interval])
        tree.divide(Amount(round(capacity[interval])), cluster.pools[0].unit_gpu_milli, 0)
        for number, leaf in known:
            entitled[number, interval] = leaf.fair[GPU]
    received = np.minimum(held, entitled).sum(axis=1)
    return [_percent(float(got), float(due)) for got, due in zip(received, entitled.sum(axis=1), strict=True)]


def _work(
    queue: str | None,
    guarantee: float | None,
    records: Sequence[JobRecord],
    hours: float,
    share: float | None,
) -> WorkSummary:
    lost = sum(record.lost_seconds * record.job.gpu_milli for record in records)
    return WorkSummary(
        queue=queue,
        guarantee_gpus=guarantee,
        workloads=len(records),
        started=sum(record.first_start is not None for record in records),
        finished=sum(record.ended is not None for record in records),
        wait=spread(
            [each.first_start - each.job.arrives for each in records if each.first_start is not None]
        ),
        waited=spread([each.waited_seconds for each in records if each.ended is not None]),
        completion=spread([each.ended - each.job.arrives for each in records if each.ended is not None]),
        evictions=sum(record.evictions for record in records),
        lost_gpu_hours=round(lost / _MILLI_HOUR, 2),
        held_gpu_hours=round(hours, 1),
        of_share_percent=share,
    )


def spread(seconds: Sequence[int]) -> Spread:
    if not seconds:
        return Spread(None, None, None, None, None)
    ordered = sorted(seconds)

    def rank(percent: int) -> int:
        return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]

    return Spread(round(sum(ordered) / len(ordered), 1), rank(50), rank(90), rank(99), ordered[-1])


def _guarantees(cluster: Cluster) -> dict[str, float]:
    pool = cluster.pools[0].name
    found = {}
    for queue in cluster.queues:
        quota = queue.quotas.get(pool, {}).get(Resource.GPU_MILLI)
        if quota is not None and quota.guarantee >= 0:
            found[queue.name] = quota.guarantee / WHOLE_DEVICE_MILLI
    return found


def _percent(part: float, whole: float) -> float | None:
    return round(100 * part / whole, 2) if whole else None
