"""One pool: board, queue tree and workloads, kept between cycles, and what every action of a cycle shares."""

from collections.abc import Collection, Iterable, Iterator

from corral.core.mixes import Mix
from corral.core.nodes import Node, Pool
from corral.core.plans import Action, Entitlement, Reason, ReasonKind, SearchResult
from corral.core.queues import Queue
from corral.core.resources import NOTHING, Amount
from corral.core.workloads import Workload
from corral.scheduling.ordering.victim_index import VictimIndex
from corral.scheduling.ordering.workload_index import Entry, WorkloadIndex
from corral.scheduling.placing.node_scores import When
from corral.scheduling.placing.placer import Placer
from corral.scheduling.state.board import Board
from corral.scheduling.state.config import Config
from corral.scheduling.state.expected_ends import ExpectedEnds
from corral.scheduling.state.guards import Guard, ReservationGuard, shielded
from corral.scheduling.state.node_numbering import NodeNumbering
from corral.scheduling.state.queue_tree import KINDS, QueueState, QueueTree, resource_of
from corral.scheduling.state.slots import SettledReplica, Slot
from corral.scheduling.state.workload_state import Chunk, WorkState


class Cycle:
    """The state that the actions of one cycle change; `end` takes it back to where it began."""

    def __init__(
        self,
        pool: Pool,
        nodes: Iterable[Node],
        queues: Iterable[Queue],
        config: Config,
        mix: Mix | None = None,
    ) -> None:
        self.now = 0
        self.recording_searches = True  # whether it is written down how searches ended
        self.pool = pool
        self.config = config
        self.board = Board(sorted(nodes, key=lambda node: node.name))
        self.mix = mix
        self.placer = Placer(self.board, pool, mix)
        self.tree = QueueTree(queues, pool.name)
        self.workload_index = WorkloadIndex(self.board, self.tree)
        self._node_numbering = NodeNumbering(self.board)
        self._total = _total(self.board)
        self._divided = False
        self._ends: ExpectedEnds | None = None  # until somebody asks
        self._begin(0)

    def begin(self, now: int) -> None:
        """Opens a cycle: fair shares are those of what runs and waits now."""
        self.settle()
        self._begin(now)
        self.placer.begin()
        if not self._divided:
            self.tree.divide(self._total, self.pool.unit_gpu_milli, self.config.history_milli)
            self._divided = True

    def _begin(self, now: int) -> None:
        self.now = now
        self.victim_index = VictimIndex(self.workload_index)
        self.searches: dict[WorkState, dict[Action, SearchResult]] = {}
        self.taken_for: dict[Slot, tuple[Action, str | None]] = {}
        self.takings: dict[WorkState, list[Slot]] = {}  # by taker
        self.entitlements: dict[str, Entitlement] = {}  # what the queue of each taker reclaimed
        self.guards: list[Guard] = []
        self.reservation_tries = 0
        self.blocked_by_guard = False  # whether what was placed last failed beside what is kept for others

    def end(self) -> None:
        """Closes a cycle: everything it decided is in its plan, and the board is as it was."""
        self.board.undo(0)

    def load(self, workloads: Iterable[Workload]) -> None:
        """Takes in all workloads of the pool; once, before anything else."""
        self.workload_index.load(workloads)

    def read(self, workload: Workload) -> Entry:
        """A workload as it would be put on the board."""
        self.settle()
        return self.workload_index.read(workload)

    def put(self, entry: Entry) -> None:
        """Takes in a workload that was read; between cycles."""
        self.workload_index.put(entry)
        if self._ends is not None:
            self._ends.add(entry.work)
        self._divided = False

    def drop(self, name: str) -> None:
        """Lets a workload go; between cycles."""
        if self._ends is not None and (work := self.workload_index.find(name)) is not None:
            self._ends.drop(work)
        self.workload_index.drop(name)
        self._divided = False

    def change_node(self, node: Node) -> None:
        """Takes over what a node says of itself now; its name and devices are as before."""
        self.settle()
        self.board.change(self.workload_index.node_number(node.name), node)
        self.placer.forget_node_facts()
        self._total = _total(self.board)
        self._divided = False

    def add_node(self, node: Node) -> bool:
        """A node joins, in time for the next that looks; False if it has devices of a kind not seen here."""
        return self._node_numbering.add(node)

    def drop_node(self, name: str) -> bool:
        """An empty node leaves; False if something is on it, or no other has such devices."""
        if self._node_numbering.awaits(name):
            self.settle()
        return self._node_numbering.drop(self.board.nodes[self.workload_index.node_number(name)])

    def settle(self) -> None:
        """Takes in the nodes that joined, and lets go those that left, all at once."""
        numbers = self._node_numbering.settle(self.board)
        if numbers is not None:
            self.workload_index.renumber(*numbers)
            self.placer.renumber()
            self._total = _total(self.board)
            self._divided = False

    def change_queues(self, queues: Iterable[Queue]) -> bool:
        """Takes over other numbers for the same tree of queues; False if it is another tree."""
        self._divided = False
        before = {leaf: leaf.learnt for leaf in self.tree.leaves()}
        if not self.tree.change(queues):
            return False
        if self._ends is not None:
            for leaf, learnt in before.items():
                if leaf.learnt != learnt:
                    for work in self.workload_index.holding(leaf):
                        self._ends.add(work)
        return True

    def add_leaf(self, queue: Queue) -> None:
        """A queue joins below one that has no work of its own; between cycles."""
        self.tree.add_leaf(queue)
        self._divided = False

    def drop_leaf(self, name: str) -> None:
        """It leaves again, and nothing is in it; between cycles."""
        self.tree.drop_leaf(name)
        self._divided = False

    def change_mix(self, mix: Mix | None) -> None:
        """Takes over what placement has learnt."""
        self.mix = mix
        self.placer.use(mix)

    @property
    def ends(self) -> ExpectedEnds:
        """When what runs will probably end."""
        if self._ends is None or self._ends.is_ahead_of(self.now):
            self._ends = ExpectedEnds(self.workload_index)
        return self._ends

    @property
    def works(self) -> Iterable[WorkState]:
        """All workloads, in no particular order: what depends on an order sorts."""
        return self.workload_index

    def settled(self, leaf: QueueState) -> Collection[SettledReplica]:
        """Those of a leaf queue that simply run, as long as nobody asks for more of them."""
        return self.workload_index.settled(leaf)

    def may_give(self, leaf: QueueState) -> Iterator[WorkState]:
        """Others of a leaf queue of which something runs or was placed in this cycle, in any order."""
        holding = self.workload_index.holding(leaf)
        yield from holding
        for work in self.board.moved():
            if work.queue is leaf and work not in holding:
                yield work

    def refusal(self, chunk: Chunk) -> Reason | None:
        """Which limit or guarantee forbids the chunk, wherever it would be placed."""
        for queue in chunk.work.queue.path:
            for kind in queue.limited:
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
        if chunk.pinned is NOTHING:
            return None
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

    def place(self, chunk: Chunk, *, when: When = When.NOW, keep: bool = False) -> Reason | None:
        """Places the chunk under all rules, or says what forbids it."""
        refused = self.refusal(chunk)
        if refused is not None:
            return refused
        mark = self.board.mark
        # Where something is kept, it matters which devices were promised.
        self.placer.may_swap_promised_devices = not self.guards
        found = self.placer.place(chunk, when=when, keep=keep)
        if found < len(chunk.slots):
            return self.placer.no_room(chunk, found)
        if not self.guards:
            return None
        guards = [guard for guard in self.guards if not guard.spares(chunk.work, self.now)]
        return self._place_guarded(chunk, guards, mark, when=when, keep=keep) if guards else None

    def pending(self) -> list[WorkState]:
        """Workloads that could get more, without those that this cycle evicted."""
        return self.workload_index.pending()

    def _place_guarded(
        self, chunk: Chunk, guards: list[Guard], mark: int, *, when: When, keep: bool
    ) -> Reason | None:
        """Places a chunk again, beside what is kept for others, if it stands on that and would stay."""
        outlasted = [guard for guard in guards if guard.outlasted_by(chunk.work, self.now)]
        touched = [guard for guard in outlasted if guard.touches(chunk)]
        self.blocked_by_guard = bool(touched)
        if touched:
            self.board.undo(mark)
            with shielded(self.board, outlasted):
                found = self.placer.place(chunk, when=when, keep=keep)
            if found < len(chunk.slots):
                return touched[0].reason(found, len(chunk.slots))
        self.blocked_by_guard = False
        for guard in guards:
            # What queues may use is kept too: a limit that is used up would hold the first one back.
            if isinstance(guard, ReservationGuard) and self.refusal(guard.chunk) is not None:
                self.board.undo(mark)
                return guard.reason(0, len(chunk.slots))
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


def _total(board: Board) -> Amount:
    nodes = board.nodes
    return Amount(
        1000 * sum(len(node.devices) for node in nodes),
        sum(node.node.cpu_milli for node in nodes),
        sum(node.node.memory_mib for node in nodes),
    )
