"""What the work of one person reports is bounded over all of it; others do not notice."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import func, insert, select

from corral.core.bounds import PersonBounds
from corral.core.runs import RunId
from corral.store.database import Database, Transaction
from corral.usage.metrics.rules import MOST_POINTS, Report
from corral.usage.metrics.service import forget, record
from corral.usage.metrics.tables import metric_person, metric_point, metric_series
from corral.usage.tables import usage_allocation

AT = datetime(2026, 11, 15, 9, tzinfo=UTC)
MEI, ANN = "u01k9x3v7qzt8m2c4w6d0aa", "u01k9x3v7qzt8m2c4w6d0bb"
FIRST, SECOND, OTHER = (f"w01k9x3v7qzt8m2c4w6d0{letter}" for letter in ("aa", "bb", "cc"))


def _report(workload_id: str, number: int, **body: object) -> Report:
    return Report(RunId(workload_id, 1, 0), number, AT + timedelta(seconds=number), body)


def _own(transaction: Transaction, workload_id: str, user_id: str) -> None:
    """The ledger knows whose work it is."""
    numbers = ("opened_us", "beat_us", "recorded_us", "next_cut_us", "lost_us", "records", "offset_us")
    values = {
        "id": f"{workload_id}-1-0",
        "workload_id": workload_id,
        "attempt": 1,
        "replica": 0,
        "user_id": user_id,
        "organisation_id": "o01k9x3v7qzt8m2c4w6d0aa",
        "organisation_path": "/",
        "queue_id": "q01k9x3v7qzt8m2c4w6d0aa",
        "zone_id": "z01k9x3v7qzt8m2c4w6d0aa",
        "node": "box",
        "resources": [],
        "boot_id": "boot",
        "opened_at": AT,
        **dict.fromkeys(numbers, 0),
    }
    transaction.run(insert(usage_allocation), values)


async def _three_workloads(database: Database) -> None:
    for workload_id, user_id in ((FIRST, MEI), (SECOND, MEI), (OTHER, ANN)):
        await database.write(_own, workload_id, user_id)


def _counted(transaction: Transaction) -> dict[str, tuple[int, int]]:
    return {row.user_id: (row.series, row.points) for row in transaction.rows(select(metric_person))}


def _there(transaction: Transaction) -> tuple[int, int]:
    """All series and points, counted one by one."""
    return (
        transaction.scalar(select(func.count()).select_from(metric_series)),
        transaction.scalar(select(func.count()).select_from(metric_point)),
    )


async def test_series_of_one_person_are_bounded_over_all_their_work(database: Database) -> None:
    await _three_workloads(database)
    database.bounds = PersonBounds(metric_series=3)
    taken = await database.write(record, [_report(FIRST, 1, loss=1.0, accuracy=0.5)])
    assert taken.refused == {}
    taken = await database.write(
        record, [_report(SECOND, 1, loss=1.0, rate=0.1), _report(OTHER, 1, loss=1.0, rate=0.1)]
    )
    assert taken.refused.keys() == {SECOND}
    assert "its owner has 3 series of metrics" in taken.refused[SECOND]
    assert await database.read(_counted) == {MEI: (3, 3), ANN: (2, 2)}
    # What is there goes on.
    taken = await database.write(record, [_report(FIRST, 2, loss=0.5)])
    assert taken.refused == {}


async def test_points_of_one_person_are_bounded_and_come_back_with_deleted_work(database: Database) -> None:
    await _three_workloads(database)
    database.bounds = PersonBounds(metric_points=5)
    await database.write(record, [_report(FIRST, number, loss=1.0) for number in range(4)])
    taken = await database.write(record, [_report(SECOND, number, loss=1.0) for number in range(4)])
    assert "its owner has 5 points of metrics" in taken.refused[SECOND]
    assert await database.read(_counted) == {MEI: (2, 5)}
    assert await database.read(_there) == (2, 5)
    await database.write(forget, [FIRST])
    assert await database.read(_counted) == {MEI: (1, 1)}
    taken = await database.write(record, [_report(SECOND, number, loss=1.0) for number in range(4, 8)])
    assert (taken.new, taken.refused) == (4, {})
    assert await database.read(_there) == (1, 5)


async def test_count_is_right_when_long_series_are_thinned(database: Database) -> None:
    await _three_workloads(database)
    number = 0
    for size in (MOST_POINTS - 1, 2, MOST_POINTS, 3 * MOST_POINTS + 5, 7):
        reports = [_report(FIRST, each, loss=1.0, rate=2.0) for each in range(number, number + size)]
        number += size
        await database.write(record, reports)
        assert await database.read(_counted) == {MEI: await database.read(_there)}
    await database.write(forget, [FIRST])
    assert await database.read(_counted) == {MEI: (0, 0)}
