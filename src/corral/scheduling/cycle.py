"""One pool during one cycle: board, queue tree, workloads, and what every action shares."""

from collections.abc import Iterable

from corral.core.mixes import Mix
from corral.core.nodes import Node, Pool
from corral.core.plans import Action, Reason, ReasonKind, SearchResult
from corral.core.queues import Queue
from corral.core.resources import Amount
from corral.core.workloads import ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.board import Board
from corral.scheduling.config import Config
from corral.scheduling.guards import Guard, reason_of, shielded
from corral.scheduling.lists import Lists
from corral.scheduling.mig import Carving
from corral.scheduling.place import Placer
from corral.scheduling.requests import RequestClass, request_key, type_key
from corral.scheduling.tree import KINDS, QueueState, Tree, resource_of
from corral.scheduling.work import Chunk, GroupState, Phase, Slot, Spot, WorkState, held_state


class Cycle:
    """The state that the actions of one cycle change, one pool at a time."""

    def __init__(
        self,
        now: int,
        pool: Pool,
        nodes: Iterable[Node],
        queues: Iterable[Queue],
        workloads: Iterable[Workload],
        config: Config,
        mix: Mix | None = None,
    ) -> None:
        self.now = now
        self.pool = pool
        self.config = config
        self.board = Board(sorted(nodes, key=lambda node: node.name))
        self.placer = Placer(self.board, pool, mix)
        self.tree = Tree(queues, pool.name)
        self.works: list[WorkState] = []
        self._works_in: dict[QueueState, list[WorkState]] = {}
        self.lists = Lists(self.pending, self.works_in)
        self.reasons: dict[WorkState, Reason] = {}
        self.searches: dict[WorkState, dict[Action, SearchResult]] = {}
        self.taken_for: dict[Slot, tuple[Action, str | None]] = {}
        self.guards: list[Guard] = []
        self.reservation_tries = 0
        self._classes: dict[type_key, RequestClass] = {}
        self._node_numbers = {node.node.name: node.index for node in self.board.nodes}
        self._kinds = {device.kind: device for node in self.board.nodes for device in node.node.devices}
        self._device_numbers = [
            {device.id: number for number, device in enumerate(node.node.devices)}
            for node in self.board.nodes
        ]
        for workload in sorted(workloads, key=lambda workload: workload.name):
            self._adopt(workload)
        self.tree.divide(self._total(), pool.unit_gpu_milli, config.history_milli)

    def refusal(self, chunk: Chunk) -> Reason | None:
        """Which limit or guarantee forbids the chunk, wherever it would be placed."""
        for queue in chunk.work.queue.path:
            for kind in KINDS:
                if chunk.amount[kind] and queue.allocated[kind] + chunk.amount[kind] > queue.limit[kind]:
                    return Reason(
                        ReasonKind.LIMIT,
                        queue.allocated[kind],
                        chunk.amount[kind],
                        queue.limit[kind],
                        queue.name,
                        resource_of(kind),
                    )
        refused = self.guarantee_refusal(chunk)
        if refused is None and self.tree.fixed:
            return self._lending_refusal(chunk)
        return refused

    def guarantee_refusal(self, chunk: Chunk) -> Reason | None:
        """Which guarantee non-preemptible work would leave; no eviction helps against that."""
        for queue in chunk.work.queue.path:
            for kind in KINDS:
                # Preemptible use does not count against non-preemptible work.
                if chunk.pinned[kind] and queue.pinned[kind] + chunk.pinned[kind] > queue.guarantee[kind]:
                    return Reason(
                        ReasonKind.OVER_GUARANTEE,
                        queue.pinned[kind],
                        chunk.pinned[kind],
                        queue.guarantee[kind],
                        queue.name,
                        resource_of(kind),
                    )
        return None

    def place(self, chunk: Chunk, *, rehearsal: bool = False, keep: bool = False) -> Reason | None:
        """Places the chunk under all rules, or says what forbids it."""
        refused = self.refusal(chunk)
        if refused is not None:
            return refused
        mark = self.board.mark
        found = self.placer.place(chunk, rehearsal=rehearsal, keep=keep)
        if found < len(chunk.slots):
            return self.placer.no_room(chunk, found)
        guards = [guard for guard in self.guards if guard.work is not chunk.work and guard.waiting]
        return self._place_guarded(chunk, guards, mark, rehearsal=rehearsal, keep=keep) if guards else None

    def pending(self) -> list[WorkState]:
        """Workloads that could get more, without those that this cycle evicted."""
        return [work for work in self.works if not work.evicted_slots and work.chunk() is not None]

    def works_in(self, leaf: QueueState) -> list[WorkState]:
        """The workloads of one leaf queue."""
        return self._works_in.get(leaf, [])

    def _place_guarded(
        self, chunk: Chunk, guards: list[Guard], mark: int, *, rehearsal: bool, keep: bool
    ) -> Reason | None:
        """Places a chunk again, beside what is kept for others, if it stands on that and would stay."""
        outlasted = [guard for guard in guards if guard.outlasted_by(chunk.work, self.now)]
        if any(guard.touches(chunk) for guard in outlasted):
            self.board.undo(mark)
            with shielded(self.board, outlasted):
                found = self.placer.place(chunk, rehearsal=rehearsal, keep=keep)
            if found < len(chunk.slots):
                return reason_of(outlasted[0], found, len(chunk.slots))
        for guard in guards:
            # What queues may use is kept too: a limit that is used up would hold the first one back.
            if self.refusal(guard.chunk) is not None:
                self.board.undo(mark)
                return reason_of(guard, 0, len(chunk.slots))
        return None

    def _lending_refusal(self, chunk: Chunk) -> Reason | None:
        kept = self.tree.kept_by_others(chunk.work.queue)
        for kind in KINDS:
            used = sum(root.allocated[kind] for root in self.tree.roots)
            bound = self.tree.total[kind] - kept[kind]
            if kept[kind] and chunk.amount[kind] and used + chunk.amount[kind] > bound:
                return Reason(
                    ReasonKind.KEPT_BY_FIXED_QUEUES,
                    used,
                    chunk.amount[kind],
                    bound,
                    resource=resource_of(kind),
                )
        return None

    def _total(self) -> Amount:
        nodes = self.board.nodes
        return Amount(
            1000 * sum(len(node.devices) for node in nodes),
            sum(node.node.cpu_milli for node in nodes),
            sum(node.node.memory_mib for node in nodes),
        )

    def _adopt(self, workload: Workload) -> None:
        work = WorkState(workload, self.tree.by_name[workload.queue])
        for state, group in zip(work.groups, workload.groups, strict=True):
            self._adopt_group(work, state, group)
        self.works.append(work)
        self._works_in.setdefault(work.queue, []).append(work)
        for slot in work.slots:
            if slot.base is None and not slot.succeeded:
                for queue in work.queue.path:
                    for kind in KINDS:
                        queue.asked[kind] += slot.request.amount[kind]

    def _adopt_group(self, work: WorkState, state: GroupState, group: ReplicaGroup) -> None:
        for below, spec in zip(state.groups, group.groups, strict=True):
            self._adopt_group(work, below, spec)
        for replica in group.replicas:
            request = self._class_of(replica.request or group.request)
            slot = Slot(replica.name, state, len(work.slots), request)
            state.slots.append(slot)
            work.slots.append(slot)
            if replica.state is ReplicaState.SUCCEEDED:
                slot.succeeded = True
                state.present += 1
            elif replica.node is not None:
                phase = held_state(replica.state)
                work.stuck = work.stuck or phase is Phase.STUCK
                number = self._node_numbers[replica.node]
                node = self.board.nodes[number]
                uses, carvings, milli = [], [], 0
                for use in replica.devices:
                    index = self._device_numbers[number][use.device]
                    memory, grid = node.devices[index].memory_mib, node.devices[index].grid
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
                amount = Amount(milli, request.cpu_milli, request.memory_mib)
                self.board.adopt(slot, Spot(number, tuple(uses), amount, tuple(carvings)), phase)

    def _class_of(self, request: Request) -> RequestClass:
        key = request_key(request)
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = RequestClass(len(self._classes), request, self._kinds.values())
        return found
