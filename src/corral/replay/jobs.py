"""What is replayed: jobs, which know how long they take, on a cluster whose scheduler does not."""

from dataclasses import dataclass, field

from corral.core.nodes import Node, Pool
from corral.core.queues import Queue
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.core.workloads import DeviceRequest, Request

DEFAULT_POOL = Pool("default")


@dataclass(frozen=True, slots=True)
class Job:
    """A workload that is a gang of equal replicas, with the moment it arrives and the time it takes.

    `checkpoint_seconds` is how often it saves by itself; 0 means only when it is told to go.
    `limit_seconds` is what its owner says it takes at most.
    """

    name: str
    queue: str
    arrives: int
    work_seconds: int
    request: Request
    replicas: int = 1
    priority: int = 0
    preemptible: bool = True
    checkpoint_seconds: int = 0
    limit_seconds: int | None = None

    @property
    def gpu_milli(self) -> int:
        wanted = self.request.devices
        if wanted is None:
            return 0
        each = WHOLE_DEVICE_MILLI if wanted.fraction_milli is None else wanted.fraction_milli
        return self.replicas * wanted.count * each


@dataclass(frozen=True, slots=True)
class Cluster:
    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...]
    pools: tuple[Pool, ...] = (DEFAULT_POOL,)

    @property
    def gpu_milli(self) -> int:
        return WHOLE_DEVICE_MILLI * sum(len(node.devices) for node in self.nodes)


@dataclass(frozen=True, slots=True)
class Trace:
    """Jobs in the order of their arrival, and the cluster they ran on where the trace knows it."""

    name: str
    jobs: tuple[Job, ...]
    nodes: tuple[Node, ...] = ()
    guarantees: dict[str, int] = field(default_factory=dict)  # GPUs of each queue that has some
    notes: tuple[str, ...] = ()


def gang(gpus: int, gpus_per_node: int) -> tuple[int, DeviceRequest | None]:
    """Replicas, and whole GPUs of each: one where it fits a node, else equal parts, as few as can be."""
    if gpus == 0:
        return 1, None
    for replicas in range(-(-gpus // gpus_per_node), gpus + 1):
        if gpus % replicas == 0:
            return replicas, DeviceRequest(gpus // replicas)
    raise AssertionError("a number divides itself")
