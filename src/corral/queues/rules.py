"""Pure decisions about queues: defaults, overcommitted guarantees, colours."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from corral.core.queues import Queue, Quota
from corral.core.resources import RESOURCES, UNLIMITED, WHOLE_DEVICE_MILLI, Amount, Resource

COLOURS = 8
# What nobody changed: nothing is reserved, surplus is shared with equal weights.
USUAL_QUOTA = Quota(guarantee=0)
# The root has the whole pool: without a quota nothing is divided above it.
ROOT_QUOTA = Quota()

PoolSizes = Mapping[str, Mapping[Resource, int]]


class Shortfall(StrEnum):
    """Why a guarantee cannot be kept when all ask for theirs."""

    ABOVE_CAPACITY = "above_capacity"
    ABOVE_GUARANTEE = "above_guarantee"
    ABOVE_LIMIT = "above_limit"


@dataclass(frozen=True, slots=True)
class OverCommitment:
    """Guarantees in a queue, or below it, exceed what is `available`."""

    kind: Shortfall
    queue: str
    pool: str
    resource: Resource
    promised: int
    available: int


def colour_among(siblings: Collection[int]) -> int:
    """The first category that no sibling has; the eighth is for all that come later."""
    return next((colour for colour in range(1, COLOURS) if colour not in siblings), COLOURS)


def over_commitments(queues: Sequence[Queue], sizes: PoolSizes) -> list[OverCommitment]:
    """Where guarantees add up to more than the queue above has, or the pool; in the order of the queues.

    A guarantee of everything promises nothing that others lack: it is only what is left.
    """
    below: dict[str, list[Queue]] = {}
    for queue in queues:
        if queue.parent is not None:
            below.setdefault(queue.parent, []).append(queue)
    return [
        found
        for queue in queues
        for pool in sizes
        for resource in RESOURCES
        for found in _over_committed(queue, below.get(queue.name, []), pool, resource, sizes[pool][resource])
    ]


def _over_committed(
    queue: Queue, children: Sequence[Queue], pool: str, resource: Resource, size: int
) -> Iterator[OverCommitment]:
    own = quota_of(queue, pool, resource)
    promised = sum(max(0, quota_of(child, pool, resource).guarantee) for child in children)
    if own.guarantee > size and queue.parent is None:
        yield OverCommitment(Shortfall.ABOVE_CAPACITY, queue.name, pool, resource, own.guarantee, size)
    has = size if own.guarantee == UNLIMITED else own.guarantee
    if promised > has:
        kind = Shortfall.ABOVE_CAPACITY if own.guarantee == UNLIMITED else Shortfall.ABOVE_GUARANTEE
        yield OverCommitment(kind, queue.name, pool, resource, promised, has)
    if own.limit != UNLIMITED and promised > own.limit and own.limit != has:
        yield OverCommitment(Shortfall.ABOVE_LIMIT, queue.name, pool, resource, promised, own.limit)


def quota_of(queue: Queue, pool: str, resource: Resource) -> Quota:
    return queue.quotas.get(pool, {}).get(resource, usual_quota(queue))


def usual_quota(queue: Queue) -> Quota:
    """The default quota."""
    return ROOT_QUOTA if queue.parent is None else USUAL_QUOTA


def told(amount: int, resource: Resource) -> str:
    """An amount for people: `2.5 GPUs`, `16 CPUs`, `64 GiB of memory`."""
    match resource:
        case Resource.GPU_MILLI:
            return _counted(amount, WHOLE_DEVICE_MILLI, "GPU")
        case Resource.CPU_MILLI:
            return _counted(amount, 1000, "CPU")
        case Resource.MEMORY_MIB:
            return f"{amount / 1024:g} GiB of memory" if amount % 1024 == 0 else f"{amount} MiB of memory"


def _counted(amount: int, unit: int, word: str) -> str:
    return f"{amount / unit:g} {word}{'' if amount == unit else 's'}"


def root_quota(given: Mapping[Resource, Quota], capacity: Amount) -> dict[Resource, Quota]:
    """The root's quota in a pool. Everything is what the pool has.

    Without a number the root's share would be whatever is asked for, and those below would divide that:
    nobody would ever hold more than a fair share, and who came first would keep it all.
    """
    whole = {}
    for resource, there in zip(RESOURCES, capacity, strict=True):
        quota = given.get(resource, ROOT_QUOTA)
        whole[resource] = replace(quota, guarantee=there) if quota.guarantee == UNLIMITED else quota
    return whole


def whole_quota(given: Mapping[Resource, Quota], capacity: Amount) -> dict[Resource, Quota]:
    """A quota for every resource of a pool: what was given, and for the others what goes with it.

    GPUs are of no use without CPU and memory: a guarantee of a part of the pool's GPUs brings the same part
    of its CPU and memory along. Otherwise work would be inside its guarantee of GPUs and outside of one of
    nothing, and could take back neither.
    """
    gpu = given.get(Resource.GPU_MILLI, USUAL_QUOTA)
    whole = {Resource.GPU_MILLI: gpu}
    for resource, there in (
        (Resource.CPU_MILLI, capacity.cpu_milli),
        (Resource.MEMORY_MIB, capacity.memory_mib),
    ):
        part = gpu.guarantee
        if part != UNLIMITED:
            part = gpu.guarantee * there // capacity.gpu_milli if capacity.gpu_milli else 0
        whole[resource] = given.get(resource, Quota(guarantee=min(part, there), weight=gpu.weight))
    return whole
