"""Rolls points up to minutes, hours and days, and forgets what is past its time.

A block of time is due when points came for it, also late ones. Rolling it up replaces what was there, so it
may happen any number of times and be interrupted at any moment: the block stays due until it is done.
"""

from sqlalchemy import TextClause, bindparam, delete, select, text

from corral.store.database import Transaction
from corral.usage.samples.levels import DAY, LEVELS, MINUTE, RAW, ROLLED, Level, Retention, finer, start_of
from corral.usage.samples.points import SUBJECT_KINDS
from corral.usage.samples.store import mark_due
from corral.usage.samples.tables import rolled, sample_due, sample_point, sample_series

# Points of a block are waited for so long after its end.
GRACE_SECONDS = 30
_SERIES_AT_ONCE = 500


def roll_one(transaction: Transaction) -> bool:
    """Rolls up one block that is over; False if there is none."""
    now = int(transaction.now.timestamp())
    for level in ROLLED:
        due = transaction.scalar(
            _FIRST_DUE, {"width": level.width_seconds, "over": now - GRACE_SECONDS - level.block_seconds}
        )
        if due is not None:
            _roll(transaction, level, due)
            return True
    return False


def _roll(transaction: Transaction, level: Level, start: int) -> None:
    span = {"start": start, "end": start + level.block_seconds}
    transaction.run(_ROLL[level.name], span)
    if level is MINUTE:
        transaction.run(_TOUCH, span)
    if level is not ROLLED[-1]:
        above = LEVELS[LEVELS.index(level) + 1]
        mark_due(transaction, above.width_seconds, [start_of(start, above.block_seconds)])
    transaction.run(_DONE, {"width": level.width_seconds, "at": start})


def forget_points(transaction: Transaction, retention: Retention, most_seconds: int = 3600) -> bool:
    """Removes old single points, an hour's worth at a time; whether there may be more."""
    now = int(transaction.now.timestamp())
    until = _kept_from(transaction, RAW, retention, now)
    first = transaction.scalar(_OLDEST_POINT)
    if first is None or first >= until:
        return False
    transaction.run(_FORGET_POINTS, {"until": min(until, first + most_seconds)})
    return True


def forget_series(transaction: Transaction, retention: Retention, after_id: int) -> int | None:
    """Removes what is old of some hundred series after `after_id`; where to go on, None at the end.

    Series that are dead go altogether.
    """
    now = int(transaction.now.timestamp())
    some = transaction.rows(_SOME_SERIES, {"after": after_id, "most": _SERIES_AT_ONCE})
    if not some:
        return None
    last_id = some[-1].id
    span = {"after": after_id, "last": last_id}
    for level in ROLLED:
        until = _kept_from(transaction, level, retention, now)
        transaction.run(_FORGET[level.name], span | {"until": until})
    limits = {kind: retention.dead_before(kind, now) for kind in SUBJECT_KINDS}
    dead = [{"id": row.id} for row in some if row.last_at < limits[row.kind]]
    if dead:
        for statement in _BURY:
            transaction.run(statement, dead)
    return int(last_id)


def _kept_from(transaction: Transaction, level: Level, retention: Retention, now: int) -> int:
    """Nothing is forgotten that has still to be rolled up."""
    kept_from = retention.kept_from(level, now)
    needed = transaction.scalar(_OLDEST_DUE)
    return kept_from if needed is None else min(kept_from, start_of(int(needed), DAY.width_seconds))


def _roll_statement(level: Level) -> TextClause:
    below = finer(level)
    if below is RAW:
        source, sums = "sample_point", "min(value), max(value), CAST(sum(value) AS BIGINT), count(*)"
    else:
        source = f"sample_{below.name}"
        sums = "min(lowest), max(highest), CAST(sum(total) AS BIGINT), CAST(sum(points) AS INTEGER)"
    bucket = f"at - at % {level.width_seconds}"
    active = "" if below is RAW else _ACTIVE
    # Table names are ours; nothing of a caller's is in them.
    return text(
        f"INSERT INTO sample_{level.name} (series_id, at, lowest, highest, total, points)"  # noqa: S608
        f" SELECT series_id, {bucket}, {sums} FROM {source}"
        f" WHERE {active}at >= :start AND at < :end"
        f" GROUP BY series_id, {bucket} ORDER BY series_id, {bucket}"
        " ON CONFLICT (series_id, at) DO UPDATE SET lowest = excluded.lowest, highest = excluded.highest,"
        " total = excluded.total, points = excluded.points"
    )


# Rows of a level lie in order of series: their part of a block is found series by series.
_ACTIVE = "series_id IN (SELECT id FROM sample_series WHERE last_at >= :start) AND "
_ROLL = {level.name: _roll_statement(level) for level in ROLLED}
_TOUCH = text(
    "UPDATE sample_series SET last_at = :end WHERE last_at < :end"
    " AND id IN (SELECT series_id FROM sample_point WHERE at >= :start AND at < :end)"
)
_d = sample_due.c
_FIRST_DUE = (
    select(_d.at)
    .where(_d.width_seconds == bindparam("width"), _d.at <= bindparam("over"))
    .order_by(_d.at)
    .limit(1)
)
_OLDEST_DUE = select(_d.at).order_by(_d.at).limit(1)
_DONE = delete(sample_due).where(_d.width_seconds == bindparam("width"), _d.at == bindparam("at"))
_OLDEST_POINT = select(sample_point.c.at).order_by(sample_point.c.at).limit(1)
_FORGET_POINTS = delete(sample_point).where(sample_point.c.at < bindparam("until"))
_SOME_SERIES = (
    select(sample_series.c.id, sample_series.c.kind, sample_series.c.last_at)
    .where(sample_series.c.id > bindparam("after"))
    .order_by(sample_series.c.id)
    .limit(bindparam("most"))
)
_FORGET = {
    level.name: text(
        f"DELETE FROM sample_{level.name} WHERE at < :until AND series_id IN"  # noqa: S608
        " (SELECT id FROM sample_series WHERE id > :after AND id <= :last)"
    )
    for level in ROLLED
}
_BURY = (
    *(delete(table).where(table.c.series_id == bindparam("id")) for table in rolled.values()),
    delete(sample_series).where(sample_series.c.id == bindparam("id")),
)
