"""Passing: the turns of all who wait, where those who are known to fail are passed over at their turn.

The turns are those of `Order`: also who is known to fail has one, and what it asks for decides when. It is
not tried then, and how a line gets past thousands of them in a few turns is said in `rows`.
"""

from collections.abc import Callable, Container, Mapping

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.kinds import Entry
from corral.scheduling.order import Order, work_key
from corral.scheduling.rows import EVERYONE, NOBODY, KnowingLine, Row
from corral.scheduling.tree import QueueState
from corral.scheduling.work import WorkState

_FEW = 64


def passing(cycle: Cycle, action: Action = Action.ALLOCATE, *, preemptible: bool = False) -> "Passing":
    """The turns of an action. With `preemptible`, of nobody else."""
    now, takes, across = cycle.now, action is not Action.ALLOCATE, cycle.pool.priority_across_queues

    def ready(work: WorkState) -> bool:
        return (not takes or now >= work.delay_until) and (not preemptible or work.preemptible)

    def note(work: WorkState, ended: SearchResult) -> None:
        cycle.searches.setdefault(work, {}).setdefault(action, ended)

    absent = {work for work in cycle.board.moved() if work.evicted_slots or work.chunk() is None}
    lines = {}
    for queue, line in cycle.roster.lines.look().items():
        rows = [
            Row(entries, end) for entries in line.kinds.values() if (end := _ready(entries, absent, ready))
        ]
        others = [
            (work_key(work), work)
            for work in line.others
            if work not in absent and work.chunk() is not None and ready(work)
        ]
        if rows or others:
            lines[queue] = KnowingLine(rows, others, absent, across=across)
    return Passing(lines, across=across, note=note if takes and cycle.noting else None)


class Passing(Order):
    """Hands out those of whom nothing is known yet, in the normal order."""

    def __init__(
        self,
        lines: Mapping[QueueState, KnowingLine],
        *,
        across: bool,
        note: Callable[[WorkState, SearchResult], None] | None = None,
    ) -> None:
        """`note` is told what became of those who were passed."""
        super().__init__(lines, across=across)
        self._knowing = lines
        self._note = note
        self._last: QueueState | None = None
        self._period = 0  # counts the successes

    def pop(self) -> WorkState | None:
        """The next one of whom nothing is known, which leaves the order."""
        while True:
            if self._last is not None:
                self._knowing[self._last].advance(self._period, alone=len(self._waits) == 1)
                self._moved(self._last)
            self._last = self._leaf_below(None)
            if self._last is None:
                return None
            line = self._knowing[self._last]
            work = line.pop()
            if not line.last_is_known():
                return work

    def push(self, work: WorkState) -> None:
        """It was placed, and queues again, unless nothing more of it could be placed."""
        self._period += 1
        super().push(work)

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
        home = self._knowing[self._last]
        failed = home.came
        if failed is None:
            return
        known_from = EVERYONE if seconds is None else seconds
        for line in self._knowing.values() if everywhere else (home,):
            # Where kinds are many, comparing them costs more than it saves.
            for row in line.rows if len(line.rows) <= _FEW else [failed] if line is home else []:
                if known_from < row.known_from and fails_too(row, failed):
                    line.know(row, known_from, result)

    def forget(self) -> None:
        """The last one succeeded: what was known holds no longer, for those who did not have their turn."""
        self._period += 1
        self.close()
        for line in self._knowing.values():
            line.forget()

    def close(self) -> None:
        """Tells what became of those who were passed."""
        for line in self._knowing.values():
            for row in line.rows:
                if row.known_from != NOBODY:
                    self._tell(line, row)

    def _tell(self, line: KnowingLine, row: Row) -> None:
        if self._note is not None and row.result is not None:
            for work in line.told(row):
                self._note(work, row.result)


def _ready(entries: list[Entry], absent: Container[WorkState], ready: Callable[[WorkState], bool]) -> int:
    """How many of a kind are ready: the oldest come first. 0 if all of those are absent."""
    end = len(entries)
    while end and not ready(entries[end - 1][1]):
        end -= 1
    if not end or entries[0][1] not in absent:
        return end
    return end if any(work not in absent for _, work in entries[:end]) else 0
