"""The roster: the workloads of one pool, put on the board and taken off it, and the indexes that actions use.

It is kept between cycles: a workload that did not change costs nothing in the next one. What simply runs is
left at rest when a pool is loaded, and wakes when it is asked for.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from corral.core.refusals import Invalid
from corral.core.workloads import Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.affinity import Neighbours
from corral.scheduling.board import Board
from corral.scheduling.groups import GroupState
from corral.scheduling.kinds import Lines
from corral.scheduling.mig import Carving
from corral.scheduling.requests import RequestClass, request_key, type_key
from corral.scheduling.resting import Resting, at_rest
from corral.scheduling.slots import HOLDING, Phase, Rest, Slot, Spot
from corral.scheduling.ties import Integers
from corral.scheduling.tree import QueueState, Tree
from corral.scheduling.work import WorkState, total_of

_IN_ORDER = "Tell of queues and nodes before the work that uses them, and drop them after it."
_new = tuple.__new__
_Held = list[tuple[Slot, Spot, Phase]]


class Entry(NamedTuple):
    """A workload and what its replicas hold."""

    work: WorkState
    held: _Held


class Roster:
    """Every workload of a pool by name; who waits for something, who runs below its minimum, who is where."""

    def __init__(self, board: Board, tree: Tree) -> None:
        self._board = board
        self._tree = tree
        self._neighbours = Neighbours(len(board.nodes))
        self._awake: dict[str, WorkState] = {}
        self._resting = Resting()
        # Sets that keep their order.
        self.waiting: dict[WorkState, None] = {}
        self.below_minimum: dict[WorkState, None] = {}
        self.lines = Lines()
        self._holding: dict[QueueState, dict[WorkState, None]] = {}
        self._in_queue: dict[QueueState, dict[WorkState, None]] = {}
        self._classes: dict[type_key, RequestClass] = {}
        self._kinds = board.kinds()
        self._number_nodes()

    def __iter__(self) -> Iterator[WorkState]:
        """Everybody, awake."""
        for name in list(self._resting):
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
        for rest in list(self._resting.of(leaf)):
            self._wake(rest.workload.name)
        return self._in_queue.get(leaf, {})

    def holding(self, leaf: QueueState) -> Mapping[WorkState, None]:
        """Those awake of which something was on the board before the cycle."""
        return self._holding.get(leaf, {})

    def resting(self, leaf: QueueState) -> Collection[Rest]:
        """Those of a leaf queue that nobody has asked for yet: each runs."""
        return self._resting.of(leaf)

    def node_number(self, name: str) -> int:
        return self._node_numbers[name]

    def find_node(self, name: str) -> int | None:
        """The number of a node, or None if it is in another pool."""
        return self._node_numbers.get(name)

    def renumber(self, after: list[int], before: Integers) -> None:
        """The board's nodes have other numbers: `after` by the former ones, `before` by those of now."""
        self._number_nodes()
        self._neighbours.renumber(before)
        self._resting.move(after)
        for work in self._awake.values():
            for slot in work.slots:
                spot = slot.base
                if spot is not None and after[spot.node] != spot.node:
                    slot.base = Spot(after[spot.node], spot.devices, spot.amount, spot.carvings)

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
        held: _Held = []
        for state, group in zip(work.groups, workload.groups, strict=True):
            self._read_group(work, state, group, held)
        return Entry(work, held)

    def load(self, workloads: Iterable[Workload]) -> None:
        """Puts all workloads of a pool on its new board."""
        resting: dict[str, list[Rest]] = {}
        for workload in workloads:
            rest = None if workload.running_since is None else self._rest_of(workload)
            if rest is None:
                self.put(self.read(workload))
                continue
            rests = resting.get(workload.queue)
            if rests is None:
                rests = resting[workload.queue] = []
            rests.append(rest)
        for rests in resting.values():
            queue = self._queue_of(rests[0].workload)
            self._resting.add(queue, rests)
            self._board.settle(queue, rests)

    def put(self, entry: Entry) -> None:
        """Puts a workload on the board; between cycles only."""
        work, workload = entry.work, entry.work.workload
        self._neighbours.meet(work)
        for slot, spot, phase in entry.held:
            self._board.adopt(slot, spot, phase)
        self._list(entry)
        if self._ask(work, 1):
            self.waiting[work] = None
            self.lines.add(work)
        if workload.stale_since is not None:
            self.below_minimum[work] = None

    def drop(self, name: str) -> None:
        """Takes a workload off; between cycles only."""
        self._wake(name)
        work = self._awake.pop(name)
        self._ask(work, -1)
        if work in self.waiting:
            del self.waiting[work]
            self.lines.remove(work)
        for slot in work.slots:
            if slot.base is not None:
                self._board.release(slot)
        self._neighbours.part(work)
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
        """Makes the states of a workload at rest; None if it is not at rest."""
        rest = self._resting.pop(name)
        if rest is None:
            return None
        entry = self.read(rest.workload)
        for slot, spot, _ in entry.held:
            self._board.recognise(slot, spot)
        self._list(entry)
        return entry.work

    def _list(self, entry: Entry) -> None:
        work = entry.work
        self._awake[work.name] = work
        self._in_queue.setdefault(work.queue, {})[work] = None
        if entry.held:
            self._holding.setdefault(work.queue, {})[work] = None

    def _ask(self, work: WorkState, sign: int) -> bool:
        """Counts what waits as asked for by its queues; whether there is any."""
        amounts = [slot.request.amount for slot in work.slots if slot.base is None and not slot.succeeded]
        if not amounts:
            return False
        total = total_of(amounts)
        gpu, cpu, memory = sign * total[0], sign * total[1], sign * total[2]
        for queue in work.queue.path:
            asked = queue.asked
            asked[0] += gpu
            asked[1] += cpu
            asked[2] += memory
        return True

    def _read_group(self, work: WorkState, state: GroupState, group: ReplicaGroup, held: _Held) -> None:
        for below, spec in zip(state.groups, group.groups, strict=True) if state.groups else ():
            self._read_group(work, below, spec, held)
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
                held.append((slot, self._spot_of(work.workload, replica, request), phase))

    def _rest_of(self, workload: Workload) -> Rest | None:
        """A workload at rest; None if it needs a closer look."""
        replica = at_rest(workload)
        if replica is None:
            return None
        group = workload.groups[0]
        request = self._class_of(replica.request or group.request)
        if request.affinity or request.profile is not None:
            return None
        # As their own constructors do it, in a third of the time.
        return _new(Rest, (workload, request, self._spot_of(workload, replica, request), group.preemptible))

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
        uses, carvings, milli = [], [], 0
        for use in replica.devices:
            index, memory, _ = whole[use.device]
            grid = node.devices[index].grid
            if use.profile is not None and use.start is not None and grid is not None:
                uses.append((index, *grid.share(use.profile, memory)))
                bits = grid.bits(use.profile, use.start)
                carvings.append(Carving(index, use.profile, use.start, bits))
                milli += grid.milli(use.profile)
            elif use.memory_mib is None:
                uses.append((index, memory, 100))
                milli += 1000
            else:
                uses.append((index, use.memory_mib, use.compute_percent))
                milli += request.charge(memory)
        return Spot(number, tuple(uses), request.charged(milli), tuple(carvings))

    def _class_of(self, request: Request) -> RequestClass:
        key = request_key(request)
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = RequestClass(len(self._classes), request, self._kinds.values())
        return found
