"""Points into the database: which series they belong to, and what has to be rolled up because of them."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from typing import NamedTuple

from sqlalchemy import func, insert, select, text

from corral.store.database import Transaction
from corral.store.schema import any_of
from corral.usage.samples.levels import MINUTE, Retention, start_of
from corral.usage.samples.points import Point, SeriesKey
from corral.usage.samples.tables import SUBJECT_LENGTH, sample_series

MOST_SERIES = 200_000
# Clocks of machines differ a little; what is further ahead is a mistake.
_AHEAD_SECONDS = 300

_s = sample_series.c


class Stored(NamedTuple):
    """How many points were taken, and how many not: too old, ahead of time, of one series too many."""

    taken: int
    dropped: int


def store(
    transaction: Transaction,
    points: Collection[Point],
    retention: Retention,
    ids: MutableMapping[SeriesKey, int],
) -> Stored:
    """Takes points in any order, and the same ones again; `ids` remembers series from call to call."""
    now = int(transaction.now.timestamp())
    first, last = retention.accepted_from(now), now + _AHEAD_SECONDS
    timely = [point for point in points if first <= point.at <= last]
    _find_series(transaction, {point.key for point in timely} - ids.keys(), now, ids)
    by_second: dict[int, dict[int, int]] = defaultdict(dict)
    for key, at, value in timely:
        series_id = ids.get(key)
        if series_id is not None:
            by_second[at][series_id] = value
    for at, values in sorted(by_second.items()):
        _write(transaction, at, values)
    if by_second:
        blocks = {start_of(at, MINUTE.block_seconds) for at in by_second}
        mark_due(transaction, MINUTE.width_seconds, blocks)
    taken = sum(key in ids for key, _, _ in timely)
    return Stored(taken, len(points) - taken)


def _write(transaction: Transaction, at: int, values: Mapping[int, int]) -> None:
    """The points of one second as one parameter: that costs far less than a row of parameters for each."""
    statement = _STORE_POSTGRESQL if transaction.is_postgresql else _STORE_SQLITE
    transaction.run(statement, {"at": at, "points": json.dumps(sorted(values.items()))})


def mark_due(transaction: Transaction, width_seconds: int, blocks: Iterable[int]) -> None:
    transaction.run(_MARK_DUE, [{"width": width_seconds, "at": at} for at in sorted(blocks)])


def _find_series(
    transaction: Transaction, keys: Collection[SeriesKey], now: int, ids: MutableMapping[SeriesKey, int]
) -> None:
    if not keys:
        return
    subjects = json.dumps(sorted({key.subject for key in keys}))

    def look() -> dict[SeriesKey, int]:
        rows = transaction.rows(_SERIES, {"subjects": subjects})
        return {SeriesKey(row.kind, row.subject, row.metric): row.id for row in rows}

    known = look()
    missing = sorted(key for key in keys if key not in known and len(key.subject) <= SUBJECT_LENGTH)
    if missing:
        room = MOST_SERIES - int(transaction.scalar(_COUNT))
        fresh = [
            {"kind": key.kind, "subject": key.subject, "metric": key.metric.value, "last_at": now}
            for key in missing[: max(0, room)]
        ]
        if fresh:
            transaction.run(insert(sample_series), fresh)
            known = look()
    ids.update({key: known[key] for key in keys if key in known})


_SERIES = select(_s.id, _s.kind, _s.subject, _s.metric).where(any_of(_s.subject, "subjects"))
_COUNT = select(func.count()).select_from(sample_series)
_STORE_SQLITE = text(
    "INSERT INTO sample_point (at, series_id, value)"
    " SELECT :at, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:points) WHERE true"
    " ON CONFLICT (at, series_id) DO UPDATE SET value = excluded.value"
)
_STORE_POSTGRESQL = text(
    "INSERT INTO sample_point (at, series_id, value)"
    " SELECT CAST(:at AS BIGINT), CAST(point ->> 0 AS INTEGER), CAST(point ->> 1 AS BIGINT)"
    " FROM jsonb_array_elements(CAST(:points AS jsonb)) AS points (point)"
    " ON CONFLICT (at, series_id) DO UPDATE SET value = excluded.value"
)
_MARK_DUE = text(
    "INSERT INTO sample_due (width_seconds, at) VALUES (:width, :at)"
    " ON CONFLICT (width_seconds, at) DO NOTHING"
)
