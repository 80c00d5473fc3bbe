"""Samples are stored as they come, rolled up exactly, forgotten in time, answered at the detail that fits."""

import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Table, func, select

from corral.store.database import Database
from corral.usage.samples.levels import DAY, HOUR, MINUTE, RAW, Retention, choose
from corral.usage.samples.points import Metric, Point, SeriesKey
from corral.usage.samples.rollup import forget_points
from corral.usage.samples.sampler import Samples, SamplesError, open_samples
from corral.usage.samples.tables import rolled, sample_due, sample_point, sample_series

NODE = "n01k9x3v7qzt8m2c4w6d0aa"
RETENTION = Retention(raw_hours=24, minute_days=3, hour_days=10, day_days=30, workload_days=2)
NINE = 1_794_733_200  # 2026-11-15T09:00:00Z
CPU = SeriesKey("node", NODE, Metric.CPU_MILLI)
MEMORY = SeriesKey("node", NODE, Metric.MEMORY_BYTES)


class SetClock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = NINE

    def __call__(self) -> datetime:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now)


@pytest.fixture
def time() -> SetClock:
    return SetClock()


@pytest.fixture
async def samples(database_url: str, time: SetClock) -> AsyncIterator[Samples]:
    database = Database(database_url, clock=time)
    opened = open_samples(database, RETENTION)
    yield opened
    await opened.close()
    await database.close()


async def _tidy(samples: Samples) -> None:
    while await samples.tidy():
        pass


async def _ask(
    samples: Samples, since: int, until: int, points: int = 300, key: SeriesKey = CPU
) -> list[tuple[int, int, float, int, int]]:
    answer = await samples.query(key.kind, key.subject, [key.metric], since=since, until=until, points=points)
    return [
        (one.at - NINE, one.lowest, one.mean, one.highest, one.points) for one in answer.samples[key.metric]
    ]


async def _count(samples: Samples, table: Table) -> int:
    statement = select(func.count()).select_from(table)
    return int(await samples._database.read(lambda transaction: transaction.scalar(statement)))


def _every_ten_seconds(start: int, seconds: int, key: SeriesKey = CPU) -> list[Point]:
    return [Point(key, at, (at - NINE) // 10) for at in range(start, start + seconds, 10)]


async def test_points_are_answered_as_they_came(samples: Samples, time: SetClock) -> None:
    time.now = NINE + 30
    stored = await samples.store([Point(CPU, NINE + 20, 7), Point(CPU, NINE, 5), Point(MEMORY, NINE, 9)])
    assert stored == (3, 0)
    assert await _ask(samples, NINE, NINE + 60) == [(0, 5, 5.0, 5, 1), (20, 7, 7.0, 7, 1)]
    assert await _ask(samples, NINE, NINE + 60, key=MEMORY) == [(0, 9, 9.0, 9, 1)]


async def test_points_that_come_twice_count_once(samples: Samples, time: SetClock) -> None:
    time.now = NINE + 1200
    points = _every_ten_seconds(NINE, 600)
    await samples.store(points)
    await samples.store(points)
    await _tidy(samples)
    await samples.store(points[:5])
    await _tidy(samples)
    assert await _ask(samples, NINE, NINE + 7200) == [
        (60 * minute, 6 * minute, 6 * minute + 2.5, 6 * minute + 5, 6) for minute in range(10)
    ]


async def test_hours_and_days_have_lowest_mean_highest_of_their_points(
    samples: Samples, time: SetClock
) -> None:
    midnight = NINE - 9 * 3600
    for hour in range(24):
        time.now = midnight + hour * 3600 + 3600
        await samples.store(
            [Point(CPU, midnight + hour * 3600 + second, hour) for second in range(0, 3600, 600)]
        )
    time.now = midnight + 86400 + 60
    await _tidy(samples)
    days = [tuple(row) for row in await samples._database.read(lambda t: t.rows(select(rolled["day"])))]
    assert [row[1:] for row in days] == [(midnight, 0, 23, 6 * sum(range(24)), 144)]
    hours = await _ask(samples, midnight, midnight + 86400, points=24)
    assert [(lowest, highest, points) for _, lowest, _, highest, points in hours] == [
        (hour, hour, 6) for hour in range(24)
    ]


async def test_late_point_is_rolled_up_too(samples: Samples, time: SetClock) -> None:
    time.now = NINE + 7200
    await samples.store(_every_ten_seconds(NINE, 3600))
    await _tidy(samples)
    await samples.store([Point(CPU, NINE + 5, 9999)])
    await _tidy(samples)
    found = await _ask(samples, NINE, NINE + 3600, points=1)
    assert found == [(0, 0, (sum(range(360)) + 9999) / 361, 9999, 361)]
    assert await _count(samples, rolled["hour"]) == 1


async def test_what_is_not_rolled_up_yet_is_in_the_answer(samples: Samples, time: SetClock) -> None:
    """At every moment, whichever levels answer."""
    whole = _every_ten_seconds(NINE, 2 * 3600)
    for done in range(0, len(whole), 90):
        time.now = NINE + 10 * done
        await samples.store(whole[max(0, done - 90) : done])
        await _tidy(samples)
        for points in (2, 120, 600):
            found = await _ask(samples, NINE, NINE + 2 * 3600, points)
            assert sum(one[-1] for one in found) == done
            assert not done or max(one[3] for one in found) == done - 1
            assert len(found) <= points


async def test_points_out_of_time_are_dropped_and_counted(samples: Samples, time: SetClock) -> None:
    too_old, ahead = NINE - 23 * 3600 - 1, NINE + 301
    stored = await samples.store([Point(CPU, too_old, 1), Point(CPU, ahead, 1), Point(CPU, NINE, 1)])
    assert stored == (1, 2)


async def test_number_of_series_is_bounded(samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.usage.samples.store.MOST_SERIES", 2)
    keys = [SeriesKey("replica", f"w-1-{index}", Metric.CPU_MILLI) for index in range(5)]
    assert await samples.store([Point(key, NINE, 1) for key in keys]) == (2, 3)
    assert await samples.store([Point(key, NINE + 1, 1) for key in keys]) == (2, 3)
    assert await _count(samples, sample_series) == 2
    assert len(samples.latest) == 2


async def test_each_level_is_forgotten_in_its_time(samples: Samples, time: SetClock) -> None:
    await samples.store(_every_ten_seconds(NINE - 3600, 3600))
    time.now += 86400
    await _tidy(samples)
    tables = {"raw": sample_point, **rolled}
    left = {}
    for days in (1, 2, 5, 12, 40):
        time.now = NINE + days * 86400 + 7200
        await _tidy(samples)
        await samples.forget()
        left[days] = {name for name, table in tables.items() if await _count(samples, table)}
    assert left == {
        1: {"minute", "hour", "day"},
        2: {"minute", "hour", "day"},
        5: {"hour", "day"},
        12: {"day"},
        40: set(),
    }
    assert await _count(samples, sample_series) == 0


async def test_series_of_a_workload_goes_with_all_its_levels_while_nodes_stay(
    samples: Samples, time: SetClock
) -> None:
    of_workload = SeriesKey("workload", "w1", Metric.CPU_MILLI)
    await samples.store([Point(of_workload, NINE, 1), Point(CPU, NINE, 1)])
    time.now += 2 * 86400 + 3600
    await _tidy(samples)
    await samples.forget()
    kinds = await samples._database.read(lambda t: [row.kind for row in t.rows(select(sample_series.c.kind))])
    assert kinds == ["node"]
    for table in rolled.values():
        assert await _count(samples, table) == 1


async def test_nothing_is_forgotten_before_it_is_rolled_up(samples: Samples, time: SetClock) -> None:
    """As after a week in which Corral was off."""
    await samples.store(_every_ten_seconds(NINE - 3600, 3600))
    time.now += 8 * 86400
    await samples.forget()
    await samples._database.write(forget_points, RETENTION)
    assert await _count(samples, sample_point) == 360
    await _tidy(samples)
    assert await _count(samples, rolled["hour"]) == 1
    assert await _count(samples, sample_due) == 0
    assert await _count(samples, sample_point) == 0


async def test_series_that_another_process_removed_is_made_anew(samples: Samples, time: SetClock) -> None:
    await samples.store([Point(CPU, NINE, 1)])
    time.now += 40 * 86400
    await _tidy(samples)
    await samples.forget()
    assert await _count(samples, sample_series) == 0
    await samples.store([Point(CPU, time.now, 3)])
    assert await _count(samples, sample_series) == 1
    assert [one[3] for one in await _ask(samples, time.now - 60, time.now + 60)] == [3]


@pytest.mark.parametrize(
    ("span", "ago", "points", "expected"),
    [
        (600, 0, 300, (RAW, 2)),
        (1800, 0, 300, (RAW, 6)),
        (1801, 0, 300, (MINUTE, 60)),
        (3600, 0, 20, (MINUTE, 180)),
        (3600, 2 * 86400, 300, (MINUTE, 60)),
        (86400, 0, 300, (MINUTE, 300)),
        (3600, 5 * 86400, 300, (HOUR, 3600)),
        (9 * 86400, 0, 200, (HOUR, 7200)),
        (3600, 20 * 86400, 300, (DAY, 86400)),
        (30 * 86400, 0, 10, (DAY, 3 * 86400)),
    ],
)
def test_detail_fits_the_span_and_what_is_kept(
    span: int, ago: int, points: int, expected: tuple[object, int]
) -> None:
    assert choose(NINE - ago - span, NINE - ago, points, NINE, RETENTION) == expected


def test_file_of_samples_is_beside_the_database_and_made_anew_when_damaged(
    tmp_path: Path, sqlite_template: Path
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'corral.db'}")
    path = tmp_path / "samples.db"
    open_samples(database)
    assert path.read_bytes().startswith(b"SQLite format 3")
    path.write_bytes(b"no database at all" * 100)
    open_samples(database)
    assert path.read_bytes().startswith(b"SQLite format 3")
    assert (tmp_path / "samples.db.damaged").read_bytes().startswith(b"no database")


def test_file_of_a_newer_version_is_left_alone(tmp_path: Path, sqlite_template: Path) -> None:
    with sqlite3.connect(tmp_path / "samples.db") as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(SamplesError, match="newer Corral"):
        open_samples(Database(f"sqlite:///{tmp_path / 'corral.db'}"))


@st.composite
def stories(draw: st.DrawFn) -> list[tuple[int, list[tuple[int, int, int]], bool]]:
    """Turns: so many seconds pass, points come (series, seconds ago, value), and it is tidied up or not."""
    points = st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([0, 3, 60, 599, 600, 4000]), st.integers(-50, 50)),
        max_size=6,
    )
    turn = st.tuples(st.sampled_from([1, 30, 61, 600, 1900, 3600, 40_000]), points, st.booleans())
    return draw(st.lists(turn, min_size=1, max_size=12))


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(story=stories())
async def test_levels_say_what_the_points_say(
    samples: Samples, time: SetClock, story: list[tuple[int, list[tuple[int, int, int]], bool]]
) -> None:
    """Whatever comes late, twice or in between, and whenever it is rolled up."""
    time.now = time.now - time.now % 86400 + 86400 * 60  # days apart from the story before
    begin, number = time.now, (time.now // 86400)
    keys = [SeriesKey("replica", f"w{number}-1-{index}", Metric.CPU_MILLI) for index in range(3)]
    truth: dict[tuple[int, int], int] = {}
    behind = 0
    for wait, points, tidied in story:
        time.now += wait
        batch = {(index, time.now - ago): value for index, ago, value in points if time.now - ago >= begin}
        truth |= batch
        await samples.store([Point(keys[index], at, value) for (index, at), value in batch.items()])
        # More than an hour behind, answers may lack what waits to be rolled up.
        behind += wait
        if tidied or behind > 3600:
            await _tidy(samples)
            behind = 0
    for index, key in enumerate(keys):
        mine = {at: value for (one, at), value in truth.items() if one == index}
        for count in (1, 5, 400):
            found = await samples.query(
                key.kind, key.subject, [key.metric], since=begin, until=time.now + 1, points=count
            )
            rows = found.samples[key.metric]
            step = found.choice.step_seconds
            expected = {}
            for at, value in mine.items():
                expected.setdefault(at - at % step, []).append(value)
            assert {row.at: (row.lowest, row.highest, row.total, row.points) for row in rows} == {
                at: (min(values), max(values), sum(values), len(values)) for at, values in expected.items()
            }
