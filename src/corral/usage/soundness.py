"""Whether the ledger is exact, for `corral doctor` and the tests of everything at once."""

from collections.abc import Iterator

from sqlalchemy import and_, case, func, or_, select

from corral.store.database import Transaction
from corral.usage.tables import usage_allocation, usage_record

_a, _r = usage_allocation.c, usage_record.c
_MOST = 100


def find_faults(transaction: Transaction) -> list[str]:
    """Sentences about allocations whose records do not add up; empty if there are none."""
    return list(_faults(transaction))[:_MOST]


def _faults(transaction: Transaction) -> Iterator[str]:
    for row in transaction.rows(_WRONG_SUMS):
        yield (
            f"{row.id}: records of {row.resource} add up to {row.recorded_us} µs "
            f"({row.lost_recorded_us} lost), held were {row.held_us} µs ({row.lost_us} lost)"
        )
    for row in transaction.rows(_WRONG_COUNTS):
        yield f"{row.id}: {row.found} records are there, {row.records} were written"


_held_us = (func.coalesce(_a.ended_us, _a.recorded_us) - _a.opened_us).label("held_us")
_recorded_us = func.sum(_r.duration_us)
_lost_recorded_us = func.sum(case((_r.outcome == "lost", _r.duration_us), else_=0))
_SUMS = (
    select(
        _a.id,
        _r.resource,
        _held_us,
        _a.lost_us,
        _recorded_us.label("recorded_us"),
        _lost_recorded_us.label("lost_recorded_us"),
    )
    .join_from(usage_allocation, usage_record, _r.allocation_id == _a.id)
    .group_by(_a.id, _r.resource, _r.model, _r.amount)
)
_WRONG_SUMS = _SUMS.having(or_(_recorded_us != _held_us.element, _lost_recorded_us != _a.lost_us)).limit(
    _MOST
)
_found = func.count(_r.number)
_WRONG_COUNTS = (
    select(_a.id, _a.records, _found.label("found"))
    .join_from(usage_allocation, usage_record, _r.allocation_id == _a.id, isouter=True)
    .group_by(_a.id)
    .having(
        or_(
            _found != _a.records,
            # Something was held, and no record tells of it.
            and_(_found == 0, func.coalesce(_a.ended_us, _a.recorded_us) > _a.opened_us),
        )
    )
    .limit(_MOST)
)
