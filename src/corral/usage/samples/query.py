"""One or several series in a span of time, at the level of detail that fits."""

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from statistics import median_low
from typing import NamedTuple

from sqlalchemy import TextClause, bindparam, select, text

from corral.store.database import Transaction
from corral.store.schema import any_of
from corral.usage.samples.levels import LEVELS, RAW, Choice, Level, Retention, choose, finer, start_of
from corral.usage.samples.points import Metric, SubjectKind
from corral.usage.samples.tables import sample_due, sample_series

# Blocks that are older and still due are being rolled up now; reading their single points would take long.
_TAIL_SECONDS = 2 * 3600


class Sample(NamedTuple):
    """What a series was in one step of time."""

    at: int
    lowest: int
    highest: int
    total: int
    points: int

    @property
    def mean(self) -> float:
        return self.total / self.points


class Answer(NamedTuple):
    choice: Choice
    samples: Mapping[Metric, list[Sample]]
    apart_seconds: int  # how far points usually are from each other: no less than the step of the choice


_Buckets = dict[tuple[int, int], Sample]


def query(
    transaction: Transaction,
    kind: SubjectKind,
    subject: str,
    metrics: Collection[Metric],
    *,
    since: int,
    until: int,
    points: int,
    retention: Retention,
) -> Answer:
    """The metrics of one subject, from `since` up to but without `until`, in at most about `points` steps."""
    now = int(transaction.now.timestamp())
    choice = choose(since, until, points, now, retention)
    names = json.dumps(sorted(metric.value for metric in metrics))
    series = transaction.rows(_SERIES, {"subject": subject, "kind": kind, "metrics": names})
    ids = {row.id: Metric(row.metric) for row in series}
    samples: dict[Metric, list[Sample]] = {metric: [] for metric in metrics}
    if ids:
        first = start_of(since, choice.step_seconds)
        found = _read(transaction, sorted(ids), choice.level, first, until, choice.step_seconds, now)
        for series_id, at in sorted(found):
            samples[ids[series_id]].append(found[series_id, at])
    apart = _distance(samples.values()) if choice.level is RAW else 0
    return Answer(choice, samples, max(choice.step_seconds, apart))


def _distance(series: Iterable[list[Sample]]) -> int:
    """How many seconds usually lie between two single points: nothing is finer than what was sampled."""
    gaps = [after.at - before.at for one in series for before, after in pairwise(one)]
    return median_low(gaps) if gaps else 0


def _read(
    transaction: Transaction, ids: list[int], level: Level, since: int, until: int, step: int, now: int
) -> _Buckets:
    """Rows of the level as far as it is rolled up, and the rest from the finer ones."""
    cut = until if level is RAW else min(until, max(since, _rolled_until(transaction, level, now)))
    found: _Buckets = {}
    if since < cut:
        parameters = {"ids": ids, "since": since, "until": cut, "step": step}
        for series_id, *values in transaction.rows(_ROWS[level.name], parameters):
            found[series_id, values[0]] = Sample(*values)
    if cut < until:
        for key, sample in _read(transaction, ids, finer(level), cut, until, step, now).items():
            found[key] = _merge(found[key], sample) if key in found else sample
    return found


def _merge(one: Sample, other: Sample) -> Sample:
    return Sample(
        one.at,
        min(one.lowest, other.lowest),
        max(one.highest, other.highest),
        one.total + other.total,
        one.points + other.points,
    )


def _rolled_until(transaction: Transaction, level: Level, now: int) -> int:
    due = transaction.scalar(
        _FIRST_DUE,
        {"width": level.width_seconds, "recent": start_of(now - _TAIL_SECONDS, level.block_seconds)},
    )
    return start_of(now if due is None else min(now, due), level.width_seconds)


def _rows(level: Level) -> TextClause:
    if level is RAW:
        source, sums = "sample_point", "min(value), max(value), CAST(sum(value) AS BIGINT), count(*)"
    else:
        source = f"sample_{level.name}"
        sums = "min(lowest), max(highest), CAST(sum(total) AS BIGINT), CAST(sum(points) AS INTEGER)"
    # Table names are ours; nothing of a caller's is in the text.
    statement = text(
        f"SELECT series_id, at - at % CAST(:step AS BIGINT) AS step, {sums} FROM {source}"  # noqa: S608
        " WHERE at >= :since AND at < :until AND series_id IN :ids GROUP BY 1, 2"
    )
    return statement.bindparams(bindparam("ids", expanding=True))


_ROWS = {level.name: _rows(level) for level in LEVELS}
_s, _d = sample_series.c, sample_due.c
_SERIES = select(_s.id, _s.metric).where(
    _s.subject == bindparam("subject"), _s.kind == bindparam("kind"), any_of(_s.metric, "metrics")
)
_FIRST_DUE = (
    select(_d.at)
    .where(_d.width_seconds <= bindparam("width"), _d.at >= bindparam("recent"))
    .order_by(_d.at)
    .limit(1)
)
