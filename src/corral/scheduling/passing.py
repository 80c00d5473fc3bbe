"""Passing: the turns of all who wait, where those who are known to fail are passed over at their turn.

The turns are those of `Order`. A queue comes to the first of whom nothing is known by passing all before it,
each at its own turn; what those ask for decides when. As nothing changes meanwhile, the queue's turn is where
the latest of them stands: one comparison for each amount that is asked for, however many wait. Among
siblings that holds exactly, so trees with levels keep to `Order`.
"""

from collections.abc import Callable, Container, Mapping

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.kinds import Entry, Line
from corral.scheduling.order import work_key
from corral.scheduling.rows import EVERYONE, LeafTurns, Rank, Row
from corral.scheduling.tree import QueueState
from corral.scheduling.work import WorkState

_FEW = 64


def passing(cycle: Cycle, action: Action = Action.ALLOCATE, *, preemptible: bool = False) -> "Passing | None":
    """The turns of an action; None for trees with levels. With `preemptible`, of nobody else."""
    if any(root.children for root in cycle.tree.roots):
        return None
    now, takes = cycle.now, action is not Action.ALLOCATE

    def ready(work: WorkState) -> bool:
        return (not takes or now >= work.delay_until) and (not preemptible or work.preemptible)

    def note(work: WorkState, ended: SearchResult) -> None:
        cycle.searches.setdefault(work, {}).setdefault(action, ended)

    moved = cycle.board.moved()
    return Passing(
        cycle.roster.lines.look(),
        {work for work in moved if work.evicted_slots or work.chunk() is None},
        across=cycle.pool.priority_across_queues,
        ready=ready,
        forgets=takes,
        note=note if takes and cycle.noting else None,
    )


class Passing:
    """Hands out those of whom nothing is known yet, in the normal order."""

    def __init__(
        self,
        lines: Mapping[QueueState, Line],
        absent: set[WorkState],
        *,
        across: bool,
        ready: Callable[[WorkState], bool],
        forgets: bool,
        note: Callable[[WorkState, SearchResult], None] | None = None,
    ) -> None:
        """Without those `absent` and those that are not `ready`.

        `forgets` says whether what is known ends with a success; `note` is told what became of the others.
        """
        self._forgets = forgets
        self._note = note
        self._absent = absent
        self._leaves: dict[QueueState, LeafTurns] = {}
        for queue, line in lines.items():
            rows = [
                Row(entries, end)
                for entries in line.kinds.values()
                if (end := _ready(entries, absent, ready))
            ]
            others = [
                (work_key(work), work)
                for work in line.others
                if work not in absent and work.chunk() is not None and ready(work)
            ]
            if rows or others:
                self._leaves[queue] = LeafTurns(queue, rows, others, absent, across=across)
        self._last: tuple[LeafTurns, Row | None] | None = None
        self._bound: Rank | None = None  # the latest place of those who came since something changed
        self._before: list[tuple[LeafTurns, list[int]]] = []

    def pop(self) -> WorkState | None:
        """The next one of whom nothing is known, which leaves the order."""
        leaves = self._leaves.values()
        firsts = [(leaf, first) for leaf in leaves if (first := leaf.first()) is not None]
        if not firsts:
            return None
        if len(leaves) == 1:
            leaf, (_, row) = firsts[0]
        else:
            rank, number = min((leaf.rank(first[0]), number) for number, (leaf, first) in enumerate(firsts))
            self._bound = rank if self._bound is None else max(self._bound, rank)
            leaf, (_, row) = firsts[number]
            if self._forgets:
                self._before = [(each, list(each.queue.allocated)) for each in leaves if each is not leaf]
        self._last = leaf, row
        return leaf.pop()

    def push(self, work: WorkState) -> None:
        """It queues again, unless nothing more of it could be placed."""
        if work.chunk() is not None:
            self._leaves[work.queue].push(work)

    def know(
        self,
        fails_too: Callable[[Row, Row], bool],
        *,
        everywhere: bool,
        seconds: int | None = None,
        result: SearchResult | None = None,
    ) -> None:
        """The last one failed, and with it every kind that `fails_too` says, of its queue or `everywhere`.

        With `seconds`, only of those who say to run at least so long.
        """
        assert self._last is not None
        home, failed = self._last
        if failed is None:
            return
        known_from = EVERYONE if seconds is None else seconds
        for leaf in self._leaves.values() if everywhere else (home,):
            # Where kinds are many, comparing them costs more than it saves.
            for row in leaf.rows if len(leaf.rows) <= _FEW else [failed] if leaf is home else []:
                if known_from < row.known_from and fails_too(row, failed):
                    leaf.know(row, known_from, result)

    def forget(self) -> None:
        """The last one succeeded: what was known holds no longer, for those who did not have their turn."""
        for leaf, allocated in self._before:
            assert self._bound is not None
            leaf.pass_below(self._bound, allocated)
        for leaf in self._leaves.values():
            for row in leaf.known():
                self._tell(row, row.position)
            leaf.forget()
        self._bound = None

    def close(self) -> None:
        """All others have had their turn and failed."""
        for leaf in self._leaves.values():
            for row in leaf.known():
                self._tell(row, row.end)

    def _tell(self, row: Row, until: int) -> None:
        if self._note is not None and row.result is not None:
            for _, work in row.entries[row.noted : until]:
                if work not in self._absent:
                    self._note(work, row.result)


def _ready(entries: list[Entry], absent: Container[WorkState], ready: Callable[[WorkState], bool]) -> int:
    """How many of a kind are ready: the oldest come first. 0 if all of those are absent."""
    end = len(entries)
    while end and not ready(entries[end - 1][1]):
        end -= 1
    if not end or entries[0][1] not in absent:
        return end
    return end if any(work not in absent for _, work in entries[:end]) else 0
