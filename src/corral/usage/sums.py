"""Usage of a workload, a person, a queue or an organisation and all below it, in a span of time.

Sums are made of the records, and of the time since the last one that open allocations were seen to hold
what they have. The database adds up microseconds for each amount that occurs; amounts are multiplied here,
where integers do not overflow.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    String,
    Table,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    type_coerce,
)

from corral.api.callers import Caller
from corral.audit.tables import audit_entry
from corral.core.refusals import Invalid
from corral.identity.tables import organisation, user
from corral.store.database import AnyRow, Transaction
from corral.store.schema import Instant, any_of
from corral.usage.clock import microseconds_of, moment_of
from corral.usage.rules import HOUR_US, Holding, unrecorded
from corral.usage.tables import usage_allocation, usage_record
from corral.usage.visibility import EVERYONE, Whose, visible
from corral.zones.tables import pool, zone

MOST_SUMS = 20_000

Per = Literal["total", "day", "hour"]
By = Literal[
    "all",
    "user",
    "organisation",
    "queue",
    "workload",
    "zone",
    "pool",
    "flavor",
    "kind",
    "model",
    "mode",
    "preemptible",
]

_PERIOD_US: dict[Per, int] = {"day": 24 * HOUR_US, "hour": HOUR_US}
_a, _r = usage_allocation.c, usage_record.c
_OWNERS: dict[By, ColumnElement[str]] = {
    "all": literal_column("''", String),
    "user": _a.user_id,
    "organisation": _a.organisation_id,
    "queue": _a.queue_id,
    "workload": _a.workload_id,
    "zone": _a.zone_id,
    # As it was granted; what nobody knows any more is empty.
    "pool": func.coalesce(_a.pool_id, ""),
    "flavor": func.coalesce(_a.flavor, ""),
    "kind": func.coalesce(_a.kind, ""),
    "model": func.coalesce(_a.device_model, ""),
    "mode": func.coalesce(_a.mode, ""),
    "preemptible": case((_a.preemptible.is_(None), ""), (_a.preemptible, "true"), else_="false"),
}


@dataclass(frozen=True, slots=True)
class Question:
    """Whose usage, and when."""

    since: datetime
    until: datetime
    per: Per = "total"
    by: By = "all"
    whose: Whose = EVERYONE


class Sum(NamedTuple):
    """`amount_us` is the amount times the microseconds it was held; `owner` is what `by` tells apart."""

    since: datetime
    owner: str
    owner_name: str
    resource: str
    model: str
    outcome: str
    amount_us: int


def sum_usage(transaction: Transaction, caller: Caller, question: Question) -> list[Sum]:
    """What the caller may see of it: their own always, that of others where they may read usage."""
    conditions = visible(transaction, caller, question.whose)
    parameters = {"since": question.since, "until": question.until}
    totals: Counter[tuple[int, str, str, str, str]] = Counter()
    statement = _recorded(question.per, question.by).where(*conditions).limit(MOST_SUMS + 1)
    rows = transaction.rows(statement, parameters)
    for period, owner, resource, model, outcome, amount, duration_us in rows:
        totals[period, owner, resource, model, outcome] += amount * int(duration_us)
    for row in transaction.rows(_held_now(question.by).where(*conditions), parameters):
        for period, resource, model, amount, duration_us in _since_last_record(row, question):
            totals[period, row.owner, resource, model, "used"] += amount * duration_us
    if len(rows) > MOST_SUMS or len(totals) > MOST_SUMS:
        raise Invalid.field(
            "query.per",
            f"The answer would have more than {MOST_SUMS} lines.",
            "Ask for a shorter time, for per=day, or without by.",
        )
    first = microseconds_of(question.since)
    names = _names(transaction, question.by, {owner for _, owner, *_ in totals})
    return [
        Sum(moment_of(max(period, first)), owner, names.get(owner, ""), resource, model, outcome, amount_us)
        for (period, owner, resource, model, outcome), amount_us in sorted(totals.items())
        if amount_us
    ]


def _names(transaction: Transaction, by: By, owners: set[str]) -> dict[str, str]:
    """As they are called now; of what is gone, the last name."""
    table = _NAMED.get(by)
    if table is None:
        return {}
    statement = select(table.c.id, table.c.name).where(any_of(table.c.id, "owners"))
    names = dict(tuple(row) for row in transaction.rows(statement, {"owners": json.dumps(sorted(owners))}))
    if gone := owners - names.keys() - {""}:
        known = transaction.rows(_GONE[by], {"owners": json.dumps(sorted(gone))})
        names |= {row.id: row.name for row in known}
    return names


_NAMED: dict[By, Table] = {"user": user, "organisation": organisation, "zone": zone, "pool": pool}
# The audit log knows by which name an organisation was deleted, the grants what a pool was called.
_DELETED = select(audit_entry.c.object_id.label("id"), audit_entry.c.object_name.label("name")).where(
    any_of(audit_entry.c.object_id, "owners"), audit_entry.c.action == "organisation.delete"
)
_GONE: dict[By, Select[Any]] = {
    "user": _DELETED,
    "organisation": _DELETED,
    "zone": select(_a.zone_id.label("id"), func.max(_a.zone_name).label("name"))
    .where(any_of(_a.zone_id, "owners"), _a.zone_name.is_not(None))
    .group_by(_a.zone_id),
    "pool": select(_a.pool_id.label("id"), func.max(_a.pool_name).label("name"))
    .where(any_of(_a.pool_id, "owners"), _a.pool_name.is_not(None))
    .group_by(_a.pool_id),
}
_SINCE, _UNTIL = bindparam("since", type_=Instant), bindparam("until", type_=Instant)
_OVERLAPS = (_a.opened_at < _UNTIL, or_(_a.ended_at.is_(None), _a.ended_at > _SINCE))


@cache
def _recorded(per: Per, by: By) -> Select[Any]:
    """Microseconds per period, owner, resource, model, outcome, amount; the edges of the time cut records."""
    started = type_coerce(case((_r.started_at < _SINCE, _SINCE), else_=_r.started_at), BigInteger)
    ended = type_coerce(case((_r.ended_at > _UNTIL, _UNTIL), else_=_r.ended_at), BigInteger)
    sign = case((_r.duration_us < 0, -1), else_=1)
    begins = type_coerce(_r.started_at, BigInteger)
    period = begins - begins % _PERIOD_US[per] if per in _PERIOD_US else literal_column("0", BigInteger)
    groups: list[ColumnElement[Any]] = [_r.resource, _r.model, _r.outcome, _r.amount]
    groups += [period] if per in _PERIOD_US else []
    groups += [_OWNERS[by]] if by != "all" else []
    return (
        select(
            period.label("period"),
            _OWNERS[by].label("owner"),
            _r.resource,
            _r.model,
            _r.outcome,
            _r.amount,
            func.sum(sign * (ended - started)),
        )
        .join_from(usage_allocation, usage_record, _r.allocation_id == _a.id)
        .where(*_OVERLAPS, _r.started_at < _UNTIL, _r.ended_at > _SINCE)
        .group_by(*groups)
    )


@cache
def _held_now(by: By) -> Select[Any]:
    columns = (_a.resources, _a.offset_us, _a.opened_us, _a.beat_us, _a.recorded_us)
    return select(*columns, _OWNERS[by].label("owner")).where(_a.ended_us.is_(None), *_OVERLAPS)


def _since_last_record(row: AnyRow, question: Question) -> Iterator[tuple[int, str, str, int, int]]:
    """Period, resource, model, amount and microseconds of what an open allocation was seen to hold."""
    holding = Holding(row.offset_us, row.opened_us, row.beat_us, row.recorded_us)
    since, until = microseconds_of(question.since), microseconds_of(question.until)
    for piece in unrecorded(holding):
        begins = piece.start_us + row.offset_us
        duration_us = min(piece.end_us + row.offset_us, until) - max(begins, since)
        period = begins - begins % _PERIOD_US[question.per] if question.per in _PERIOD_US else 0
        if duration_us > 0:
            for resource, model, amount in row.resources:
                yield period, resource, model, amount, duration_us
