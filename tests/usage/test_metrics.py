"""What work reports is taken once, kept short, and comes back as curves for those who may see the work."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from corral.api.callers import Caller
from corral.api.parts import part, provide
from corral.core.refusals import NotFound
from corral.core.runs import RunId
from corral.store.database import Database, Transaction
from corral.usage.context import UsageContext
from corral.usage.metrics.rules import MOST_NAMES, MOST_POINTS, Report, every_after, take
from corral.usage.metrics.service import Curve, curves, forget, read_until, record
from corral.usage.metrics.tables import metric_point, metric_run, metric_series
from tests.campus import Campus, made, refused

WORKLOAD = "w01k9x3v7qzt8m2c4w6d0aa"
RUN = RunId(WORKLOAD, 1, 0)
AT = datetime(2026, 11, 15, 9, tzinfo=UTC)


def _report(number: int, *, run: RunId = RUN, **body: object) -> Report:
    return Report(run, number, AT + timedelta(seconds=number), body)


async def _curves(database: Database, *names: str, points: int = 300) -> list[Curve]:
    found, _ = await database.read(curves, WORKLOAD, names, points)
    return found


async def test_reports_come_back_step_by_step(database: Database) -> None:
    reports = [_report(number, step=10 * number, loss=1 / number, epoch=number // 2) for number in (1, 2, 4)]
    assert (await database.write(record, reports)).new == 3
    epoch, loss = await _curves(database)
    assert (epoch.row.name, loss.row.name) == ("epoch", "loss")
    assert [(point.step, point.mean) for point in loss.points] == [(10, 1.0), (20, 0.5), (40, 0.25)]
    assert [point.at for point in loss.points] == [AT + timedelta(seconds=number) for number in (1, 2, 4)]
    assert (loss.row.last_step, loss.row.last_value, loss.row.lowest, loss.row.highest) == (
        40,
        0.25,
        0.25,
        1.0,
    )
    assert [curve.row.name for curve in await _curves(database, "loss", "unknown")] == ["loss"]


async def test_report_that_is_told_again_changes_nothing(database: Database) -> None:
    first = [_report(number, loss=float(number)) for number in (5, 9)]
    await database.write(record, first)
    assert (await database.write(record, first)).new == 0
    assert (await database.write(record, [*first, _report(12, loss=3.0)])).new == 1
    (loss,) = await _curves(database)
    assert [point.mean for point in loss.points] == [5.0, 9.0, 3.0]
    assert await database.read(read_until, [WORKLOAD]) == {RUN: 12}


async def test_runs_are_told_apart(database: Database) -> None:
    runs = [RunId(WORKLOAD, attempt, replica) for attempt in (1, 2) for replica in (0, 1)]
    await database.write(record, [_report(1, run=run, loss=1.0) for run in reversed(runs)])
    found = await _curves(database)
    assert [RunId(one.row.workload_id, one.row.attempt, one.row.replica) for one in found] == runs


async def test_step_that_is_not_given_is_counted(database: Database) -> None:
    await database.write(record, [_report(number, loss=0.5) for number in (3, 8, 11)])
    (loss,) = await _curves(database)
    assert [point.step for point in loss.points] == [0, 1, 2]


async def test_what_is_no_number_is_shown_as_a_gap(database: Database) -> None:
    values = (1.0, math.nan, math.inf, 2.0)
    await database.write(record, [_report(number, loss=value) for number, value in enumerate(values)])
    (loss,) = await _curves(database)
    assert [point.mean for point in loss.points] == [1.0, None, None, 2.0]
    assert (loss.row.lowest, loss.row.highest) == (1.0, 2.0)


@pytest.mark.parametrize("large", [1e154, 1.7e308, 10**400])
async def test_the_largest_numbers_can_be_drawn_together(database: Database, large: float) -> None:
    reports = [_report(number, loss=large if number % 2 else -large, acc=large) for number in range(1, 41)]
    await database.write(record, reports)
    acc, loss = await _curves(database, points=1)
    if large == 10**400:  # more than any float: a gap
        assert (acc.points[0].mean, loss.points[0].mean) == (None, None)
        return
    assert math.isclose(acc.points[0].mean or 0, large, rel_tol=1e-9)
    assert abs(loss.points[0].mean or 0) <= large * 1e-9


async def test_long_series_is_thinned_and_keeps_its_extremes_and_its_last(database: Database) -> None:
    total = 3 * MOST_POINTS
    for start in range(0, total, 1000):
        numbers = range(start, min(start + 1000, total))
        await database.write(
            record, [_report(number, step=number, loss=9.0 if number == 4001 else 1.0) for number in numbers]
        )
    (loss,) = await _curves(database, points=1000)
    assert (loss.row.reports, loss.row.every, loss.row.highest) == (total, 4, 9.0)
    assert loss.row.last_step == total - 1
    assert len(loss.points) <= 1000
    kept = await database.read(
        lambda transaction: transaction.scalar(select(func.count()).select_from(metric_point))
    )
    assert kept == total // 4
    assert loss.points[-1].step >= total - 16


async def test_more_points_than_asked_for_are_drawn_together(database: Database) -> None:
    await database.write(record, [_report(number, step=number, loss=float(number)) for number in range(10)])
    (loss,) = await _curves(database, points=4)
    assert [(point.step, point.lowest, point.mean, point.highest) for point in loss.points] == [
        (0, 0.0, 1.0, 2.0),
        (3, 3.0, 4.0, 5.0),
        (6, 6.0, 7.0, 8.0),
        (9, 9.0, 9.0, 9.0),
    ]


async def test_names_of_a_workload_are_bounded_and_the_rest_is_counted(database: Database) -> None:
    many = {f"metric{index:03d}": 1.0 for index in range(MOST_NAMES + 5)}
    await database.write(record, [_report(1, **many)])
    await database.write(record, [_report(2, run=RUN._replace(attempt=2), another=1.0, metric000=2.0)])
    found, dropped = await database.read(curves, WORKLOAD, [], 10)
    assert len({one.row.name for one in found}) == MOST_NAMES
    assert dropped == 6


async def test_deleted_workload_leaves_nothing(database: Database) -> None:
    other = RunId("w01k9x3v7qzt8m2c4w6d0zz", 1, 0)
    await database.write(record, [_report(1, loss=1.0), _report(1, run=other, loss=1.0)])
    await database.write(forget, [WORKLOAD])
    assert await _curves(database) == []

    def left(transaction: Transaction) -> list[int]:
        tables = (metric_run, metric_series, metric_point)
        return [transaction.scalar(select(func.count()).select_from(table)) for table in tables]

    assert await database.read(left) == [1, 1, 1]


@pytest.mark.parametrize(
    ("body", "step", "values", "dropped"),
    [
        ({"step": 3, "loss": 1}, 3, [("loss", 1.0)], 0),
        ({"step": -1, "loss": 1}, None, [("loss", 1.0)], 0),
        ({"step": "x", "loss": 1}, None, [("loss", 1.0)], 0),
        ({"step": True, "loss": True}, None, [], 1),
        ({"loss": "0.5", "note": None}, None, [], 2),
        ({"": 1.0, "a" * 121: 1.0, "a\nb": 1.0}, None, [], 3),
        ({"loss": 10**400}, None, [("loss", None)], 0),
        ({}, None, [], 0),
    ],
)
def test_anything_may_be_said_and_only_numbers_are_taken(
    body: dict[str, object], step: int | None, values: list[tuple[str, float]], dropped: int
) -> None:
    assert take(body, []) == (step, tuple(values), dropped)


@given(reports=st.integers(0, 10**9))
def test_points_of_a_series_are_never_too_many(reports: int) -> None:
    every = every_after(reports, 1)
    assert -(-reports // every) <= MOST_POINTS
    assert every == 1 or -(-reports // (every // 2)) > MOST_POINTS


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(batches=st.lists(st.lists(st.integers(0, 60), max_size=20), max_size=8), points=st.integers(1, 40))
async def test_every_report_counts_once_whatever_is_told_how_often(
    database: Database, batches: list[list[int]], points: int
) -> None:
    """Numbers of an engine only grow: what comes after a higher one was taken before."""
    await database.write(forget, [WORKLOAD])
    expected: list[int] = []
    for batch in batches:
        taken = await database.write(record, [_report(number, loss=float(number)) for number in set(batch)])
        new = sorted(number for number in set(batch) if not expected or number > expected[-1])
        assert taken.new == len(new)
        expected += new
    found = await _curves(database, points=points)
    assert [one.row.reports for one in found] == ([len(expected)] if expected else [])
    for curve in found:
        assert len(curve.points) <= points
        assert curve.points[0].lowest == expected[0]
        assert curve.points[-1].highest == expected[-1]


@pytest.fixture
def one_workload(app: FastAPI) -> None:
    """Which only mei may see."""

    def see(_transaction: Transaction, caller: Caller, workload_id: str) -> None:
        if (workload_id, caller.name) != (WORKLOAD, "mei"):
            raise NotFound("There is no such workload.", "Look again.")

    provide(app, replace(part(app, UsageContext), see_workload=see))


async def test_curves_are_for_those_who_may_see_the_work(campus: Campus, one_workload: None) -> None:
    await campus.person("mei")
    await campus.database.write(
        record, [_report(number, step=number, loss=0.5, other=1, bad="x") for number in (1, 2)]
    )
    mei = await campus.sign_in("mei")
    asked: dict[str, Any] = {"name": "loss", "points": 1}
    answer = made(await mei.get(f"/workloads/{WORKLOAD}/metrics", params=asked))
    assert answer == {
        "items": [
            {
                "name": "loss",
                "attempt": 1,
                "replica": 0,
                "reports": 2,
                "last_step": 2,
                "last_at": "2026-11-15T09:00:02Z",
                "last_value": 0.5,
                "lowest": 0.5,
                "highest": 0.5,
                "points": [
                    {"step": 1, "at": "2026-11-15T09:00:01Z", "lowest": 0.5, "mean": 0.5, "highest": 0.5}
                ],
            }
        ],
        "dropped": 2,
    }
    refused(await campus.admin.get(f"/workloads/{WORKLOAD}/metrics"), 404)
    refused(
        await mei.get(f"/workloads/{WORKLOAD}/metrics", params={"points": 0}), 422, "invalid", "query.points"
    )
