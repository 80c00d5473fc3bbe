"""The queue tree of one pool while a cycle runs: bounds, fair shares, and what is allocated."""

from collections.abc import Iterable, Iterator, Sequence

from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.resources import RESOURCES, UNLIMITED, Amount, Resource
from corral.scheduling.state.fair_shares import INFINITE, Claimant, divide
from corral.scheduling.state.run_times import Learnt, learnt_of

GPU, CPU, MEMORY = range(len(RESOURCES))
KINDS = range(len(RESOURCES))
_UNDIVIDED = Quota()


class QueueState:
    """A queue in one pool. `allocated` changes as the cycle places and takes; `stamp` counts changes."""

    __slots__ = (
        "allocatable",
        "allocated",
        "children",
        "created",
        "divided",
        "ever_over",
        "fair",
        "fixed",
        "guarantee",
        "learnt",
        "limit",
        "limited",
        "name",
        "parent",
        "path",
        "pinned",
        "preempt_min_runtime",
        "priority",
        "quotas",
        "reclaim_min_runtime",
        "sizes",
        "stamp",
        "waiting_demand",
    )

    def __init__(self, queue: Queue, pool: str, parent: "QueueState | None") -> None:
        self.name = queue.name
        self.parent = parent
        self.children: list[QueueState] = []
        self.path: tuple[QueueState, ...] = (self,) if parent is None else (self, *parent.path)
        self.allocated = [0, 0, 0]
        self.pinned = [0, 0, 0]  # the part of `allocated` that is not preemptible
        self.waiting_demand = [0, 0, 0]
        self.fair = [0, 0, 0]
        self.allocatable = [0, 0, 0]
        self.sizes = (0, 0, 0)  # what it may have of what is divided
        self.stamp = 0
        self.read(queue, pool)

    def read(self, queue: Queue, pool: str) -> None:
        """Takes over what the queue says now; its parent has done so before."""
        quotas, parent = queue.quotas.get(pool, {}), self.parent
        self.priority = queue.priority
        self.created = queue.created
        self.fixed = queue.policy is QueuePolicy.FIXED
        self.quotas = [quotas.get(resource, _UNDIVIDED) for resource in RESOURCES]
        self.guarantee = [_bound(quota.guarantee) for quota in self.quotas]
        # A fixed queue does not borrow: its guarantee is also its limit.
        self.limit = [
            min(_bound(quota.limit), guarantee) if self.fixed else _bound(quota.limit)
            for quota, guarantee in zip(self.quotas, self.guarantee, strict=True)
        ]
        self.limited = [kind for kind in KINDS if self.limit[kind] < INFINITE]
        # Resources without guarantee and limit never decide.
        self.divided = [
            kind for kind in KINDS if self.guarantee[kind] < INFINITE or self.limit[kind] < INFINITE
        ]
        # Over its share is a queue only in every resource that has a quota: who has all of one never is.
        self.ever_over = bool(self.divided) and len(self.divided) == len(quotas)
        self.reclaim_min_runtime: int = _inherited(
            queue.reclaim_min_runtime_seconds, parent.reclaim_min_runtime if parent else 0
        )
        self.preempt_min_runtime: int = _inherited(
            queue.preempt_min_runtime_seconds, parent.preempt_min_runtime if parent else 0
        )
        self.learnt: Learnt = learnt_of(queue, parent.learnt if parent else Learnt())

    def charge(self, amount: Amount, *, preemptible: bool, sign: int) -> None:
        """Adds to (or with sign -1 takes from) this queue and all above it."""
        gpu, cpu, memory = amount[0] * sign, amount[1] * sign, amount[2] * sign
        for queue in self.path:
            allocated = queue.allocated
            allocated[0] += gpu
            allocated[1] += cpu
            allocated[2] += memory
            queue.stamp += 1
            if not preemptible:
                pinned = queue.pinned
                pinned[0] += gpu
                pinned[1] += cpu
                pinned[2] += memory

    def exceeds(self, bounds: Sequence[int], allocated: Sequence[int]) -> bool:
        return any(allocated[kind] > bounds[kind] for kind in self.divided)


class QueueTree:
    """All queues of one pool; `roots` are siblings that divide the pool's capacity."""

    def __init__(self, queues: Iterable[Queue], pool: str) -> None:
        self._pool = pool
        self.by_name: dict[str, QueueState] = {}  # parents before their children
        self.roots: list[QueueState] = []
        waiting = {queue.name: queue for queue in queues}
        for name in sorted(waiting):
            self._add(name, waiting, pool)
        self.total = Amount()
        self.fixed = self._outermost_fixed()

    def change(self, queues: Iterable[Queue]) -> bool:
        """Takes over other numbers for the same queues; False, and nothing done, if the tree differs."""
        by_name = {queue.name: queue for queue in queues}
        shape = {name: queue.parent and queue.parent.name for name, queue in self.by_name.items()}
        if shape != {name: queue.parent for name, queue in by_name.items()}:
            return False
        for name, queue in self.by_name.items():
            queue.read(by_name[name], self._pool)
        self.fixed = self._outermost_fixed()
        return True

    def add_leaf(self, queue: Queue) -> None:
        """A queue without any below it joins, where a tree built anew would have it."""
        parent = None if queue.parent is None else self.by_name[queue.parent]
        leaf = QueueState(queue, self._pool, parent)
        (parent.children if parent else self.roots).append(leaf)
        self.by_name[leaf.name] = leaf
        self._reorder(leaf)

    def drop_leaf(self, name: str) -> None:
        """A queue without work or queues below it leaves."""
        leaf = self.by_name.pop(name)
        assert not leaf.children, "only a leaf can leave"
        (leaf.parent.children if leaf.parent else self.roots).remove(leaf)
        self._reorder(leaf)

    def _reorder(self, changed: QueueState) -> None:
        """As a new tree would have it: by name, and above each queue those that it is below."""
        ordered: dict[str, QueueState] = {}
        for name in sorted(self.by_name):
            if name not in ordered:
                for queue in reversed(self.by_name[name].path):
                    ordered.setdefault(queue.name, queue)
        self.by_name = ordered
        turns = {queue: turn for turn, queue in enumerate(ordered.values())}
        for siblings in (self.roots, *(queue.children for queue in changed.path)):
            siblings.sort(key=turns.__getitem__)
        self.fixed = self._outermost_fixed()

    def _outermost_fixed(self) -> list[QueueState]:
        return [
            queue
            for _, queue in sorted(self.by_name.items())
            if queue.fixed and not any(above.fixed for above in queue.path[1:])
        ]

    def _add(self, name: str, queues: dict[str, Queue], pool: str) -> QueueState:
        if name in self.by_name:
            return self.by_name[name]
        queue = queues[name]
        parent = self._add(queue.parent, queues, pool) if queue.parent is not None else None
        made = QueueState(queue, pool, parent)
        (parent.children if parent else self.roots).append(made)
        self.by_name[name] = made
        return made

    def leaves(self) -> Iterator[QueueState]:
        return (queue for queue in self.by_name.values() if not queue.children)

    def kept_by_others(self, leaf: QueueState) -> list[int]:
        """The unused guarantees of fixed queues, which nobody else may borrow."""
        kept = [0, 0, 0]
        for queue in self.fixed:
            if queue not in leaf.path:
                for kind in KINDS:
                    if queue.guarantee[kind] < INFINITE:
                        kept[kind] += max(0, queue.guarantee[kind] - queue.allocated[kind])
        return kept

    def divide(self, total: Amount, unit_gpu_milli: int, history_milli: int) -> None:
        """Sets fair and allocatable shares from what is allocated and `waiting_demand`, top down."""
        self.total = total
        self._divide_siblings(self.roots, list(total), unit_gpu_milli, history_milli)

    def _divide_siblings(
        self, siblings: list[QueueState], totals: list[int], unit_gpu_milli: int, history_milli: int
    ) -> None:
        for kind in KINDS:
            claimants = [_claimant(queue, kind) for queue in siblings]
            unit = unit_gpu_milli if kind == GPU else 1
            shares = divide(totals[kind], claimants, unit=unit, history_milli=history_milli)
            for queue, share in zip(siblings, shares, strict=True):
                queue.fair[kind] = share
                queue.allocatable[kind] = min(queue.limit[kind], max(queue.guarantee[kind], share))
        for queue in siblings:
            gpu, cpu, memory = (queue.allocatable[kind] if kind in queue.divided else 0 for kind in KINDS)
            queue.sizes = gpu, cpu, memory
            if queue.children:
                # A guarantee may promise more than there is; nobody below can share what does not exist.
                existing = [min(share, total) for share, total in zip(queue.fair, totals, strict=True)]
                self._divide_siblings(queue.children, existing, unit_gpu_milli, history_milli)


def lowest_common(one: QueueState, other: QueueState) -> tuple[QueueState, QueueState]:
    """The two siblings just below the lowest common ancestor of two different leaves."""
    a, b = one.path[::-1], other.path[::-1]
    for left, right in zip(a, b, strict=False):
        if left is not right:
            return left, right
    raise ValueError(f"{one.name} and {other.name} are on one path")


def resource_of(kind: int) -> Resource:
    return RESOURCES[kind]


def _claimant(queue: QueueState, kind: int) -> Claimant:
    quota = queue.quotas[kind]
    return Claimant(
        name=queue.name,
        demand=queue.allocated[kind] + queue.waiting_demand[kind],
        guarantee=queue.guarantee[kind],
        limit=queue.limit[kind],
        weight=quota.weight,
        priority=queue.priority,
        created=queue.created,
        fixed=queue.fixed,
        usage_ppm=quota.usage_ppm,
    )


def _bound(number: int) -> int:
    return INFINITE if number == UNLIMITED else number


def _inherited(own: int | None, above: int) -> int:
    return above if own is None else own
