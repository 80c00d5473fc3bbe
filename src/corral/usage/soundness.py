"""Whether the ledger is exact, for `corral doctor` and the tests of everything at once."""

from collections.abc import Iterator

from sqlalchemy import and_, case, func, or_, select, union_all

from corral.store.database import Transaction
from corral.usage.tables import usage_allocation, usage_record

_a, _r = usage_allocation.c, usage_record.c
_MOST = 100


def find_faults(transaction: Transaction) -> list[str]:
    """Sentences about allocations whose records do not add up or overlap, and records out of order."""
    return list(_faults(transaction))[:_MOST]


def _faults(transaction: Transaction) -> Iterator[str]:
    for row in transaction.rows(_WRONG_SUMS):
        yield (
            f"{row.id}: records of {row.resource} add up to {row.recorded_us} µs "
            f"({row.lost_recorded_us} lost), held were {row.held_us} µs ({row.lost_us} lost)"
        )
    for row in transaction.rows(_WRONG_COUNTS):
        yield f"{row.id}: {row.found} records are there, {row.records} were written"
    for row in transaction.rows(_CHARGED_TWICE):
        yield f"{row.id}: {row.resource} at {row.at:%Y-%m-%d %H:%M:%S} is recorded {row.depth} times"
    for row in transaction.rows(_OUT_OF_ORDER):
        yield f"record {row.sequence} was posted at {row.posted_at}, before the one in front of it"


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

_sign = case((_r.duration_us < 0, -1), else_=1)
_key = (_r.allocation_id, _r.resource, _r.model)
_edges = union_all(
    select(*_key, _r.started_at.label("at"), _sign.label("change")),
    select(*_key, _r.ended_at.label("at"), (-_sign).label("change")),
).subquery()
_e = _edges.c
_changes = (
    select(_e.allocation_id, _e.resource, _e.model, _e.at, func.sum(_e.change).label("change"))
    .group_by(_e.allocation_id, _e.resource, _e.model, _e.at)
    .subquery()
)
_c = _changes.c
# How many records cover what begins at each edge: one, or none after the end.
_depths = select(
    _c.allocation_id.label("id"),
    _c.resource,
    _c.at,
    func.sum(_c.change)
    .over(partition_by=(_c.allocation_id, _c.resource, _c.model), order_by=_c.at)
    .label("depth"),
).subquery()
_CHARGED_TWICE = select(_depths).where(_depths.c.depth.not_in((0, 1))).limit(_MOST)
_posted = select(
    _r.sequence, _r.posted_at, func.lag(_r.posted_at).over(order_by=_r.sequence).label("before")
).subquery()
_OUT_OF_ORDER = (
    select(_posted.c.sequence, _posted.c.posted_at).where(_posted.c.posted_at < _posted.c.before).limit(_MOST)
)
