"""The workloads of one pool: put on the board, removed from it, and indexed for the actions.

The index survives between cycles: a workload that did not change costs nothing in the next one. Work that
simply runs stays settled when a pool is loaded, and gets its slots when an action needs it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from corral.core.refusals import Invalid
from corral.core.workloads import Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.ordering.wait_classes import WaitLists
from corral.scheduling.state.affinity_counts import Integers
from corral.scheduling.state.affinity_index import AffinityIndex
from corral.scheduling.state.board import Board
from corral.scheduling.state.mig_grid import MigAllocation
from corral.scheduling.state.queue_tree import QueueState, QueueTree
from corral.scheduling.state.replica_groups import GroupState
from corral.scheduling.state.request_classes import RequestClass, request_key, type_key
from corral.scheduling.state.settled_work import SettledWork, settled_replica
from corral.scheduling.state.slots import HOLDING, Phase, SettledReplica, Slot, Spot
from corral.scheduling.state.workload_state import WorkState, total_of

_IN_ORDER = "Set queues and nodes before the work that uses them, and drop them after it."
_new = tuple.__new__
_Occupied = list[tuple[Slot, Spot, Phase]]


class Entry(NamedTuple):
    """A workload and what its replicas hold."""

    work: WorkState
    occupied: _Occupied


class WorkloadIndex:
    """Every workload of a pool by name; who waits for something, who runs below its minimum, who is where."""

    def __init__(self, board: Board, tree: QueueTree) -> None:
        self._board = board
        self._tree = tree
        self._affinity_index = AffinityIndex(len(board.nodes))
        self._awake: dict[str, WorkState] = {}
        self._settled = SettledWork()
        # Sets that keep their order.
        self.waiting: dict[WorkState, None] = {}
        self.below_minimum: dict[WorkState, None] = {}
        self.wait_lists = WaitLists()
        self._holding: dict[QueueState, dict[WorkState, None]] = {}
        self._in_queue: dict[QueueState, dict[WorkState, None]] = {}
        self._classes: dict[type_key, RequestClass] = {}
        self._kinds = board.kinds()
        self._number_nodes()

    def __iter__(self) -> Iterator[WorkState]:
        """Everybody, awake."""
        for name in list(self._settled):
            self._wake(name)
        return iter(self._awake.values())

    def find(self, name: str) -> WorkState | None:
        """A workload by its name; None if it is in another pool."""
        return self._wake(name) or self._awake.get(name)

    def pending(self) -> list[WorkState]:
        """Those that could get more, without those that this cycle evicted."""
        return [work for work in self.waiting if not work.evicted_slots and work.chunk() is not None]

    def in_queue(self, leaf: QueueState) -> Mapping[WorkState, None]:
        """The workloads of a leaf queue, awake."""
        for rest in list(self._settled.of(leaf)):
            self._wake(rest.workload.name)
        return self._in_queue.get(leaf, {})

    def holding(self, leaf: QueueState) -> Mapping[WorkState, None]:
        """Those awake of which something was on the board before the cycle."""
        return self._holding.get(leaf, {})

    def settled(self, leaf: QueueState) -> Collection[SettledReplica]:
        """Those of a leaf queue that nobody has asked for yet: each runs."""
        return self._settled.of(leaf)

    def node_number(self, name: str) -> int:
        return self._node_numbers[name]

    def find_node(self, name: str) -> int | None:
        """The number of a node, or None if it is in another pool."""
        return self._node_numbers.get(name)

    def renumber(self, after: list[int], before: Integers) -> None:
        """The board's nodes have other numbers: `after` by the former ones, `before` by those of now."""
        self._number_nodes()
        self._affinity_index.renumber(before)
        self._settled.move(after)
        for work in self._awake.values():
            for slot in work.slots:
                spot = slot.base
                if spot is not None and after[spot.node] != spot.node:
                    slot.base = Spot(after[spot.node], spot.devices, spot.amount, spot.mig_allocations)

    def _number_nodes(self) -> None:
        nodes = self._board.nodes
        self._node_numbers = {node.node.name: node.index for node in nodes}
        # Of each node by the names of its devices what a replica has that has all of one.
        self._whole = [
            {device.id: (number, device.memory_mib, 100) for number, device in enumerate(node.node.devices)}
            for node in nodes
        ]

    def read(self, workload: Workload, queue: QueueState | None = None) -> Entry:
        """A workload with its spots, not yet on the board; `queue` if it is charged to none of the tree."""
        work = WorkState(workload, queue or self._queue_of(workload))
        occupied: _Occupied = []
        for state, group in zip(work.groups, workload.groups, strict=True):
            self._read_group(work, state, group, occupied)
        return Entry(work, occupied)

    def load(self, workloads: Iterable[Workload]) -> None:
        """Puts all workloads of a pool on its new board."""
        settled: dict[str, list[SettledReplica]] = {}
        for workload in workloads:
            rest = None if workload.running_since is None else self._settled_replica_of(workload)
            if rest is None:
                self.put(self.read(workload))
                continue
            rests = settled.get(workload.queue)
            if rests is None:
                rests = settled[workload.queue] = []
            rests.append(rest)
        for rests in settled.values():
            queue = self._queue_of(rests[0].workload)
            self._settled.add(queue, rests)
            self._board.settle(queue, rests)

    def put(self, entry: Entry) -> None:
        """Puts a workload on the board; between cycles only."""
        work, workload = entry.work, entry.work.workload
        self._affinity_index.meet(work)
        for slot, spot, phase in entry.occupied:
            self._board.adopt(slot, spot, phase)
        self._list(entry)
        if self._ask(work, 1):
            self.waiting[work] = None
            self.wait_lists.add(work)
        if workload.stale_since is not None:
            self.below_minimum[work] = None

    def drop(self, name: str) -> None:
        """Takes a workload off; between cycles only."""
        self._wake(name)
        work = self._awake.pop(name)
        self._ask(work, -1)
        if work in self.waiting:
            del self.waiting[work]
            self.wait_lists.remove(work)
        for slot in work.slots:
            if slot.base is not None:
                self._board.release(slot)
        self._affinity_index.part(work)
        del self._in_queue[work.queue][work]
        self._holding.get(work.queue, {}).pop(work, None)
        self.below_minimum.pop(work, None)

    def _queue_of(self, workload: Workload) -> QueueState:
        queue = self._tree.by_name.get(workload.queue)
        if queue is None:
            raise Invalid(f"{workload.name} is in the queue {workload.queue}, which is not there.", _IN_ORDER)
        if queue.children:
            message = f"{workload.name} is in the queue {workload.queue}, which has queues below it."
            raise Invalid.field("queue", message, "Name a queue without any.")
        return queue

    def _wake(self, name: str) -> WorkState | None:
        """Makes the slots and groups of a settled workload; None if it is not settled."""
        rest = self._settled.pop(name)
        if rest is None:
            return None
        entry = self.read(rest.workload)
        for slot, spot, _ in entry.occupied:
            self._board.recognise(slot, spot)
        self._list(entry)
        return entry.work

    def _list(self, entry: Entry) -> None:
        work = entry.work
        self._awake[work.name] = work
        self._in_queue.setdefault(work.queue, {})[work] = None
        if entry.occupied:
            self._holding.setdefault(work.queue, {})[work] = None

    def _ask(self, work: WorkState, sign: int) -> bool:
        """Counts what waits as asked for by its queues; whether there is any."""
        amounts = [slot.request.amount for slot in work.slots if slot.base is None and not slot.succeeded]
        if not amounts:
            return False
        total = total_of(amounts)
        gpu, cpu, memory = sign * total[0], sign * total[1], sign * total[2]
        for queue in work.queue.path:
            demand = queue.waiting_demand
            demand[0] += gpu
            demand[1] += cpu
            demand[2] += memory
        return True

    def _read_group(
        self, work: WorkState, state: GroupState, group: ReplicaGroup, occupied: _Occupied
    ) -> None:
        for below, spec in zip(state.groups, group.groups, strict=True) if state.groups else ():
            self._read_group(work, below, spec, occupied)
        for replica in group.replicas:
            request = self._class_of(replica.request or group.request)
            slot = Slot(replica.name, state, len(work.slots), request)
            state.slots.append(slot)
            work.slots.append(slot)
            if replica.state is ReplicaState.SUCCEEDED:
                slot.succeeded = True
                state.present += 1
            elif replica.node is not None:
                phase = HOLDING[replica.state]
                work.stuck = work.stuck or phase is Phase.STUCK
                occupied.append((slot, self._spot_of(work.workload, replica, request), phase))

    def _settled_replica_of(self, workload: Workload) -> SettledReplica | None:
        """A settled workload; None if it needs slots."""
        replica = settled_replica(workload)
        if replica is None:
            return None
        group = workload.groups[0]
        request = self._class_of(replica.request or group.request)
        if request.affinity or request.profile is not None:
            return None
        # As their own constructors do it, in a third of the time.
        return _new(
            SettledReplica, (workload, request, self._spot_of(workload, replica, request), group.preemptible)
        )

    def _spot_of(self, workload: Workload, replica: Replica, request: RequestClass) -> Spot:
        number = self._node_numbers.get(replica.node or "")
        if number is None:
            raise Invalid(
                f"{workload.name} has a replica on the node {replica.node}, which is not there.", _IN_ORDER
            )
        whole, count = self._whole[number], request.count
        if not request.sliced and len(replica.devices) == count:
            entire = tuple([whole[use.device] for use in replica.devices if use.memory_mib is None])
            if len(entire) == count:
                return _new(Spot, (number, entire, request.amount, ()))
        node = self._board.nodes[number]
        uses, mig_allocations, milli = [], [], 0
        for use in replica.devices:
            index, memory, _ = whole[use.device]
            grid = node.devices[index].grid
            if use.profile is not None and use.start is not None and grid is not None:
                uses.append((index, *grid.share(use.profile, memory)))
                bits = grid.bits(use.profile, use.start)
                mig_allocations.append(MigAllocation(index, use.profile, use.start, bits))
                milli += grid.milli(use.profile)
            elif use.memory_mib is None:
                uses.append((index, memory, 100))
                milli += 1000
            else:
                uses.append((index, use.memory_mib, use.compute_percent))
                milli += request.charge(memory)
        return Spot(number, tuple(uses), request.charged(milli), tuple(mig_allocations))

    def _class_of(self, request: Request) -> RequestClass:
        key = request_key(request)
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = RequestClass(len(self._classes), request, self._kinds.values())
        return found
