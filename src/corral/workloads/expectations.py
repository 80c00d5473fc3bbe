"""How well starts are foreseen: what was expected first is written down, and compared with what came.

An estimate is said with the usual error of the last ones of its zone, and not where that is unknown or large;
one whose time has passed is withdrawn and not replaced by the next. It is in the database, so it is known
after a restart, and to every process.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from statistics import median

from sqlalchemy import Integer, and_, bindparam, exists, insert, literal, select

from corral.core.explanations import Estimate, NoEstimate
from corral.store.database import Transaction
from corral.store.schema import Instant
from corral.workloads.states import OVER
from corral.workloads.tables import attempt, expectation, workload

# So many of the last estimates say how good they are; fewer than the least say nothing.
MOST_COMPARED = 50
LEAST_COMPARED = 5
# An error of this is no reason to be silent, however soon it is to start.
SMALL_SECONDS = 60

Waits = tuple[str, int]
"""A workload, and the number of the attempt that it waits for."""


def note(transaction: Transaction, starts: Mapping[Waits, datetime]) -> None:
    """Only the first of each attempt counts; a workload that is gone by now has none."""
    rows = [
        {"id_": workload_id, "attempt_": number, "starts_at_": starts_at, "now_": transaction.now}
        for (workload_id, number), starts_at in sorted(starts.items())
    ]
    for row in rows:
        transaction.run(_NOTE, row)


def first(transaction: Transaction, waits: Waits | None) -> datetime | None:
    """When the attempt was to start by what was expected first."""
    if waits is None:
        return None
    found: datetime | None = transaction.scalar(_FIRST, {"id_": waits[0], "attempt_": waits[1]})
    return found


def usual_error_seconds(transaction: Transaction, zone_id: str) -> int | None:
    """Half of the last estimates were wrong by less; None while too little can be compared.

    What should have started and has not is wrong by the time since, as yet.
    """
    rows = transaction.rows(_LAST, {"zone_id_": zone_id})
    starts = ((row.starts_at, row.opened_at, row.state in OVER) for row in rows)
    errors = list(_errors(starts, transaction.now))
    return int(median(errors)) if len(errors) >= LEAST_COMPARED else None


def _errors(starts: Iterable[tuple[datetime, datetime | None, bool]], now: datetime) -> Iterable[float]:
    for expected, opened, over in starts:
        if opened is not None:
            yield abs((opened - expected).total_seconds())
        elif not over and now > expected:
            yield (now - expected).total_seconds()


def judged(estimate: Estimate, error_seconds: int | None, first: datetime | None, now: datetime) -> Estimate:
    """The estimate, or why it is not said; `first` is when it was to start by what was expected first."""
    if estimate.starts_at is None:
        return estimate
    slack = SMALL_SECONDS if error_seconds is None else max(SMALL_SECONDS, error_seconds)
    if first is not None and (now - first).total_seconds() > slack:
        return Estimate(None, NoEstimate.PASSED)
    wait = estimate.starts_at - now.timestamp()
    if error_seconds is not None and error_seconds > max(SMALL_SECONDS, wait):
        return Estimate(None, NoEstimate.UNCERTAIN)
    return estimate


_e = expectation.c
_IS = _e.workload_id == bindparam("id_"), _e.attempt == bindparam("attempt_", type_=Integer)
_FIRST = select(_e.starts_at).where(*_IS)
_NOTE = insert(expectation).from_select(
    ["workload_id", "attempt", "zone_id", "told_at", "starts_at"],
    select(
        workload.c.id,
        bindparam("attempt_", type_=Integer),
        workload.c.zone_id,
        bindparam("now_", type_=Instant),
        bindparam("starts_at_", type_=Instant),
    ).where(workload.c.id == bindparam("id_"), ~exists(select(literal(1)).where(*_IS))),
)
_LAST = (
    select(_e.starts_at, attempt.c.opened_at, workload.c.state)
    .join(workload, workload.c.id == _e.workload_id)
    .outerjoin(attempt, and_(attempt.c.workload_id == _e.workload_id, attempt.c.number == _e.attempt))
    .where(_e.zone_id == bindparam("zone_id_"))
    .order_by(_e.told_at.desc(), _e.workload_id.desc())
    .limit(MOST_COMPARED)
)
