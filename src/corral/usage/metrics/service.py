"""Reports into the database, and back as series of bounded length."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select, update

from corral.core.runs import RunId
from corral.store.database import AnyRow, Transaction
from corral.store.schema import any_of
from corral.usage.metrics.people import People, Room, give_back
from corral.usage.metrics.rules import (
    MOST_POINTS,
    Report,
    Taken,
    every_after,
    kept_points,
    take,
)
from corral.usage.metrics.tables import metric_point, metric_run, metric_series

MOST_SERIES = 200

_m, _s, _p = metric_run.c, metric_series.c, metric_point.c


class Recorded(NamedTuple):
    """How many reports were new, and of which workloads values were refused, with the reason."""

    new: int
    refused: Mapping[str, str]


def record(transaction: Transaction, reports: Iterable[Report]) -> Recorded:
    """Takes what runs reported, in the order of their numbers; what was taken before changes nothing.

    What is beyond the bounds of its owner is refused.
    """
    by_run: dict[RunId, list[Report]] = defaultdict(list)
    for report in reports:
        by_run[report.run].append(report)
    people = People(transaction)
    new, refused = 0, {}
    for run, mine in sorted(by_run.items()):
        room = people.room_of(run.workload_id)
        new += _record_run(transaction, run, sorted(mine, key=lambda one: one.number), room)
        if room.refused is not None:
            refused[run.workload_id] = room.refused
            room.refused = None
    people.write_down()
    return Recorded(new, refused)


def read_until(transaction: Transaction, workload_ids: Collection[str]) -> dict[RunId, int]:
    """The number of the last report taken of each run of these workloads."""
    rows = transaction.rows(_RUNS, {"workloads": json.dumps(sorted(workload_ids))})
    return {RunId(row.workload_id, row.attempt, row.replica): row.last_number for row in rows}


def forget(transaction: Transaction, workload_ids: Collection[str]) -> None:
    """Removes all that these workloads reported; they are deleted for good."""
    parameters = {"workloads": json.dumps(sorted(workload_ids))}
    give_back(transaction, workload_ids)
    for statement in _FORGET:
        transaction.run(statement, parameters)


@dataclass(slots=True)
class _Series:
    """One series while reports are taken; `fresh` are its new points."""

    id: int
    reports: int
    every: int
    last_step: int
    last_at: datetime
    last_value: float | None
    lowest: float | None
    highest: float | None
    fresh: dict[int, dict[str, Any]]

    def add(self, step: int | None, at: datetime, value: float | None) -> int:
        """Returns how many points that makes: one, or none where not every report is kept."""
        ordinal = self.reports
        self.reports += 1
        self.last_step = ordinal if step is None else step
        self.last_at, self.last_value = at, value
        if value is not None:
            self.lowest = value if self.lowest is None else min(self.lowest, value)
            self.highest = value if self.highest is None else max(self.highest, value)
        if ordinal % self.every != 0:
            return 0
        self.fresh[ordinal] = {
            "series_id": self.id,
            "ordinal": ordinal,
            "step": self.last_step,
            "at": at,
            "value": value,
        }
        return 1


def _record_run(transaction: Transaction, run: RunId, reports: Sequence[Report], room: Room) -> int:
    known = transaction.first(_RUN, run._asdict())
    new = [one for one in reports if known is None or one.number > known.last_number]
    if not new:
        return 0
    names = {row.name for row in transaction.rows(_NAMES, {"workload_id": run.workload_id})}
    taken: list[tuple[Report, Taken]] = []
    for report in new:
        result = take(report.body, names)
        names.update(value.name for value in result.values)
        taken.append((report, result))
    refused = _add_points(transaction, run, taken, room)
    dropped = refused + sum(result.dropped for _, result in taken)
    values = {**run._asdict(), "last_number": new[-1].number, "dropped": dropped}
    if known is None:
        transaction.run(insert(metric_run), values)
    else:
        transaction.run(_READ_ON, {f"{key}_": value for key, value in values.items()})
    return len(new)


def _add_points(
    transaction: Transaction, run: RunId, taken: Sequence[tuple[Report, Taken]], room: Room
) -> int:
    """Returns how many values its owner has no room for."""
    refused = 0
    found = {row.name: _series(row) for row in transaction.rows(_SERIES_OF_RUN, run._asdict())}
    before = {name: (one.reports, one.every) for name, one in found.items()}
    for report, result in taken:
        for name, value in result.values:
            series = found.get(name)
            if not room.has_place(is_new_series=series is None):
                refused += 1
                continue
            if series is None:
                series = found[name] = _new_series(transaction, run, name, report.at)
                room.series += 1
            room.points += series.add(result.step, report.at, value)
    for name, series in found.items():
        if (series.reports, series.every) != before.get(name):
            room.points -= _write_series(transaction, series)
    return refused


def _write_series(transaction: Transaction, series: _Series) -> int:
    """Returns how many points went, because the series got too long."""
    every = every_after(series.reports, series.every)
    gone = kept_points(series.reports, series.every) - kept_points(series.reports, every)
    if every != series.every:
        series.every = every
        transaction.run(_THIN, {"series": series.id, "every": every})
    fresh = [point for ordinal, point in series.fresh.items() if ordinal % every == 0]
    if fresh:
        transaction.run(insert(metric_point), fresh)
    transaction.run(
        _RENEW,
        {
            "id_": series.id,
            "reports_": series.reports,
            "every_": series.every,
            "last_step_": series.last_step,
            "last_at_": series.last_at,
            "last_value_": series.last_value,
            "lowest_": series.lowest,
            "highest_": series.highest,
        },
    )
    return gone


def _new_series(transaction: Transaction, run: RunId, name: str, at: datetime) -> _Series:
    values = {**run._asdict(), "name": name, "reports": 0, "every": 1, "last_step": 0, "last_at": at}
    series_id = transaction.scalar(insert(metric_series).returning(_s.id), values)
    return _Series(series_id, 0, 1, 0, at, None, None, None, {})


def _series(row: AnyRow) -> _Series:
    return _Series(
        row.id,
        row.reports,
        row.every,
        row.last_step,
        row.last_at,
        row.last_value,
        row.lowest,
        row.highest,
        {},
    )


class Step(NamedTuple):
    """Several reports in a row: the step and time of the first, and what the values were."""

    step: int
    at: datetime
    lowest: float | None
    mean: float | None
    highest: float | None


class Curve(NamedTuple):
    """One series: `row` is that of `metric_series`."""

    row: AnyRow
    points: list[Step]


def curves(
    transaction: Transaction, workload_id: str, names: Collection[str], points: int
) -> tuple[list[Curve], int]:
    """What a workload reported under these names (any, without), and how many values were dropped.

    Series are in the order of name, attempt and replica, each with at most `points` points.
    """
    statement = _SERIES_NAMED if names else _SERIES_ALL
    parameters = {"workload_id": workload_id, "names": json.dumps(sorted(names))}
    rows = transaction.rows(statement, parameters if names else {"workload_id": workload_id})
    found = [Curve(row, _steps(transaction, row, points)) for row in rows]
    return found, int(transaction.scalar(_DROPPED, {"workload_id": workload_id}) or 0)


def _steps(transaction: Transaction, row: AnyRow, points: int) -> list[Step]:
    kept = kept_points(row.reports, row.every)
    width = -(-kept // points) * row.every
    rows = transaction.rows(_STEPS, {"series": row.id, "width": width})
    return [Step(*one[1:]) for one in rows]


_RUN_IS = (
    _m.workload_id == bindparam("workload_id"),
    _m.attempt == bindparam("attempt"),
    _m.replica == bindparam("replica"),
)
_RUN = select(_m.last_number).where(*_RUN_IS)
_RUNS = select(_m.workload_id, _m.attempt, _m.replica, _m.last_number).where(
    any_of(_m.workload_id, "workloads")
)
_READ_ON = (
    update(metric_run)
    .where(
        _m.workload_id == bindparam("workload_id_"),
        _m.attempt == bindparam("attempt_"),
        _m.replica == bindparam("replica_"),
    )
    .values(last_number=bindparam("last_number_"), dropped=_m.dropped + bindparam("dropped_"))
)
_NAMES = select(_s.name).where(_s.workload_id == bindparam("workload_id")).distinct()
_SERIES_OF_RUN = select(metric_series).where(
    _s.workload_id == bindparam("workload_id"),
    _s.attempt == bindparam("attempt"),
    _s.replica == bindparam("replica"),
)
_THIN = delete(metric_point).where(_p.series_id == bindparam("series"), _p.ordinal % bindparam("every") != 0)
_RENEW = (
    update(metric_series)
    .where(_s.id == bindparam("id_"))
    .values(
        reports=bindparam("reports_"),
        every=bindparam("every_"),
        last_step=bindparam("last_step_"),
        last_at=bindparam("last_at_", type_=_s.last_at.type),
        last_value=bindparam("last_value_"),
        lowest=bindparam("lowest_"),
        highest=bindparam("highest_"),
    )
)
_SERIES_ALL = (
    select(metric_series)
    .where(_s.workload_id == bindparam("workload_id"))
    .order_by(_s.name, _s.attempt, _s.replica)
    .limit(MOST_SERIES)
)
_SERIES_NAMED = _SERIES_ALL.where(any_of(_s.name, "names"))
_DROPPED = select(func.sum(_m.dropped)).where(_m.workload_id == bindparam("workload_id"))
_bucket = (_p.ordinal - _p.ordinal % bindparam("width")).label("bucket")
# PostgreSQL's avg() also squares what it adds, and fails where a square is too large. Divided before they are
# added (by a power of two, which loses nothing), as many as there can be stay finite.
_mean = func.sum(_p.value / float(MOST_POINTS)) / func.count(_p.value) * float(MOST_POINTS)
_STEPS = (
    select(
        _bucket,
        func.min(_p.step),
        func.min(_p.at),
        func.min(_p.value),
        _mean,
        func.max(_p.value),
    )
    .where(_p.series_id == bindparam("series"))
    .group_by("bucket")
    .order_by("bucket")
)
_FORGET = (
    delete(metric_series).where(any_of(_s.workload_id, "workloads")),
    delete(metric_run).where(any_of(_m.workload_id, "workloads")),
)
