"""How well starts are foreseen: what was told first is remembered, and compared with what came.

An estimate is said with the usual error of the last ones, and not where that is unknown or large; one whose
time has passed is withdrawn and not replaced by the next. What a process was told is forgotten with it: until
enough can be compared again, nothing is said.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from statistics import median

from sqlalchemy import select

from corral.core.explanations import Estimate, NoEstimate
from corral.store.database import Transaction
from corral.store.schema import any_of
from corral.workloads.states import OVER
from corral.workloads.tables import attempt, workload

# So many of the last estimates say how good they are; fewer than the least say nothing.
MOST_COMPARED = 50
LEAST_COMPARED = 5
# An error of this is no reason to be silent, however soon it is to start.
SMALL_SECONDS = 60

Waits = tuple[str, int]
"""A workload, and the number of the attempt that it waits for."""


class Expectations:
    """What was told first of each attempt."""

    def __init__(self) -> None:
        self._told: dict[Waits, datetime] = {}

    def note(self, waits: Waits, starts_at: datetime) -> None:
        self._told.setdefault(waits, starts_at)
        while len(self._told) > MOST_COMPARED:
            del self._told[next(iter(self._told))]

    def first(self, waits: Waits | None) -> datetime | None:
        return None if waits is None else self._told.get(waits)

    def usual_error_seconds(self, transaction: Transaction) -> int | None:
        """Half of what was told was wrong by less; None while too little can be compared.

        What should have started and has not is wrong by the time since, as yet.
        """
        if len(self._told) < LEAST_COMPARED:
            return None
        names = {"ids": json.dumps(sorted({name for name, _ in self._told}))}
        over = {row.id for row in transaction.rows(_STATES, names) if row.state in OVER}
        opened = {(row.workload_id, row.number): row.opened_at for row in transaction.rows(_OPENED, names)}
        came = ((told, opened.get(waits), waits[0] in over) for waits, told in self._told.items())
        errors = list(_errors(came, transaction.now))
        return int(median(errors)) if len(errors) >= LEAST_COMPARED else None


def _errors(came: Iterable[tuple[datetime, datetime | None, bool]], now: datetime) -> Iterable[float]:
    for told, opened, over in came:
        if opened is not None:
            yield abs((opened - told).total_seconds())
        elif not over and now > told:
            yield (now - told).total_seconds()


def judged(estimate: Estimate, error_seconds: int | None, first: datetime | None, now: datetime) -> Estimate:
    """The estimate, or why it is not said; `first` is when it was to start by what was told first."""
    if estimate.starts_at is None:
        return estimate
    slack = SMALL_SECONDS if error_seconds is None else max(SMALL_SECONDS, error_seconds)
    if first is not None and (now - first).total_seconds() > slack:
        return Estimate(None, NoEstimate.PASSED)
    wait = estimate.starts_at - now.timestamp()
    if error_seconds is not None and error_seconds > max(SMALL_SECONDS, wait):
        return Estimate(None, NoEstimate.UNCERTAIN)
    return estimate


_STATES = select(workload.c.id, workload.c.state).where(any_of(workload.c.id, "ids"))
_OPENED = select(attempt.c.workload_id, attempt.c.number, attempt.c.opened_at).where(
    any_of(attempt.c.workload_id, "ids")
)
