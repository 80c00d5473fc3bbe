"""Clusters that promise more than there is come to rest: with nothing arriving, the plan becomes empty.

`make explore` tries 2,000 clusters, new ones each time; here it is a few, the same ones, and those that
once moved for ever.
"""

import random
from dataclasses import replace

import pytest
from hypothesis import settings

from corral.core.devices import Device
from corral.core.nodes import Node, Pool
from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.refusals import Invalid
from corral.core.resources import Resource
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, Request, Workload
from corral.scheduling.planning.planner_state import schedule
from corral.scheduling.validate.snapshot import Snapshot
from tests.scheduling.world import settle

EXPLORING = not settings.get_profile(settings.get_current_profile_name()).derandomize
SEEDS = random.sample(range(10**9), 2000) if EXPLORING else range(60)
WARM_UP = 3
QUIET_WITHIN = 14
EVERYTHING = Quota(guarantee=-1)


@pytest.mark.parametrize("quotas_for_all", [False, True], ids=["gpus", "all resources"])
def test_clusters_that_promise_too_much_come_to_rest(quotas_for_all: bool) -> None:
    moving = [seed for seed in SEEDS if not comes_to_rest(cluster(seed, quotas_for_all=quotas_for_all))]
    assert moving == []


@pytest.mark.parametrize(
    ("seed", "quotas_for_all"), [(153, False), (533, True), (1236, True), (1855, True), (2487, True)]
)
def test_clusters_that_once_moved_for_ever_come_to_rest(seed: int, quotas_for_all: bool) -> None:
    assert comes_to_rest(cluster(seed, quotas_for_all=quotas_for_all))


def test_work_in_a_queue_with_queues_below_it_is_refused() -> None:
    nodes = (Node("n0", cpu_milli=1000, memory_mib=1000),)
    queues = (Queue("dept"), Queue("team", "dept"), Queue("other"))
    request = Request(cpu_milli=100)
    works = [
        Workload(name, queue, (ReplicaGroup("main", 1, request, (Replica(f"{name}-0"),)),))
        for name, queue in (("inner", "dept"), ("leaf", "team"), ("elsewhere", "other"))
    ]
    with pytest.raises(Invalid, match="inner is in the queue dept, which has queues below it"):
        schedule(Snapshot(1_000_000, nodes, queues, tuple(works)))


def comes_to_rest(snapshot: Snapshot) -> bool:
    for _ in range(QUIET_WITHIN):
        plan = schedule(snapshot)
        if plan.is_empty:
            return True
        snapshot = settle(snapshot, plan)
    return False


def cluster(seed: int, *, quotas_for_all: bool) -> Snapshot:
    """Guarantees above what there is, replicas above their minimums, queue priorities; partly filled."""
    choose = random.Random(seed)
    nodes = tuple(
        Node(
            f"n{number}",
            cpu_milli=64_000,
            memory_mib=640_000,
            devices=tuple(Device(f"n{number}g{device}", 100) for device in range(choose.randint(1, 4))),
        )
        for number in range(choose.randint(1, 4))
    )
    queues = Queues(choose, 1000 * sum(len(node.devices) for node in nodes), quotas_for_all=quotas_for_all)
    works = tuple(workload(choose, f"w{number}", queues.leaves) for number in range(choose.randint(4, 16)))
    pool = Pool("default", unit_gpu_milli=choose.choice([1, 1000]))
    everything = Snapshot(1_000_000, nodes, tuple(queues.made), works, pools=(pool,))
    early = choose.randint(0, len(works))
    begun = replace(everything, workloads=works[:early])
    for _ in range(WARM_UP):
        begun = settle(begun, schedule(begun))
    return replace(everything, workloads=(*begun.workloads, *works[early:]))


class Queues:
    """A random tree of up to three levels."""

    def __init__(self, choose: random.Random, total: int, *, quotas_for_all: bool) -> None:
        self.made: list[Queue] = []
        self.leaves: list[str] = []
        self._choose = choose
        self._total = total
        self._more = (
            {Resource.CPU_MILLI: EVERYTHING, Resource.MEMORY_MIB: EVERYTHING} if quotas_for_all else {}
        )
        for number in range(choose.randint(1, 3)):
            self._add(f"q{number}", None, 0)

    def _add(self, name: str, parent: str | None, depth: int) -> None:
        choose, total = self._choose, self._total
        guarantees = [
            0,
            0,
            1000,
            2000,
            4000,
            total,
            total * 2,
            -1,
            -1,
            1000 * choose.randint(0, total // 500),
        ]
        guarantee = choose.choice(guarantees)
        limit = choose.choice([-1, -1, -1, 2000, 5000, total])
        fixed = parent is None and choose.random() < 0.1
        policy = QueuePolicy.FIXED if fixed else QueuePolicy.ELASTIC
        priority = choose.choice([0, 0, 0, 1, 2])
        quota = Quota(guarantee=guarantee, limit=limit, weight=choose.randint(0, 3))
        quotas = {"default": {Resource.GPU_MILLI: quota, **self._more}}
        self.made.append(Queue(name, parent, priority, len(self.made), policy, quotas))
        children = choose.choice([0, 2, 3]) if depth == 0 else choose.choice([0, 0, 2]) if depth == 1 else 0
        for number in range(children):
            self._add(f"{name}-{number}", name, depth + 1)
        if not children:
            self.leaves.append(name)


def workload(choose: random.Random, name: str, leaves: list[str]) -> Workload:
    count = choose.randint(1, 5)
    devices = choose.choice(
        [
            DeviceRequest(count=choose.randint(1, 3)),
            DeviceRequest(count=1),
            DeviceRequest(fraction_milli=choose.choice([250, 500, 750])),
        ]
    )
    request = Request(cpu_milli=100, memory_mib=100, devices=devices)
    queue, minimum = choose.choice(leaves), choose.randint(1, count)
    replicas = tuple(Replica(f"{name}-{number}") for number in range(count))
    group = ReplicaGroup("main", minimum, request, replicas, preemptible=choose.random() < 0.8)
    return Workload(name, queue, (group,), priority=choose.randint(0, 2), created=1000 + choose.randint(0, 5))
