"""Estimates are said with their usual error, withdrawn when their time has passed, and else not said."""

from datetime import UTC, datetime, timedelta
from typing import Any

from corral.core.explanations import Estimate, NoEstimate
from corral.workloads.expectations import (
    LEAST_COMPARED,
    MOST_COMPARED,
    first,
    judged,
    note,
    usual_error_seconds,
)
from tests.campus import made
from tests.control.ground import SECOND, Ground, Program

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
SOON = Estimate(int((NOON + timedelta(minutes=10)).timestamp()))


async def _why(ground: Ground, workload_id: str) -> dict[str, Any]:
    told: dict[str, Any] = made(await ground.campus.admin.get(f"/workloads/{workload_id}/why"))
    return told


async def _jump(ground: Ground, seconds: int) -> None:
    await ground.settle()
    ground.campus.clock.advance(seconds=seconds)
    ground.now += seconds * SECOND
    await ground.settle()


async def test_estimate_of_unknown_worth_is_not_said(ground: Ground) -> None:
    admin = ground.campus.admin
    await ground.submit(admin, "first", gpus=8, time_limit_seconds=600)
    second = await ground.submit(admin, "second", gpus=8)
    await ground.settle()
    told = await _why(ground, second)
    assert told["starts_at"] is not None
    assert (told["error_seconds"], told["expectation"]) == (None, None)


async def test_estimate_whose_time_has_passed_is_withdrawn(ground: Ground) -> None:
    """The work before it runs on: the next estimate would be as wrong as the first."""
    admin = ground.campus.admin
    for number in range(5):
        await ground.submit(admin, f"usual-{number}")
    await _jump(ground, 5)
    await _jump(ground, 110)
    ground.programs["stays"] = Program(10_000, 1, 2)
    await ground.submit(admin, "stays", gpus=8)
    second = await ground.submit(admin, "second", gpus=8)
    await ground.settle()
    told = await _why(ground, second)
    assert told["starts_at"] is not None
    await _jump(ground, 900)
    assert await ground.state(second) == "queued"
    told = await _why(ground, second)
    assert (told["starts_at"], told["no_estimate"]) == (None, "passed")
    assert told["expectation"] == "no estimate: it was to start before now, and did not"


def test_estimate_is_judged_by_the_last_ones() -> None:
    passed, uncertain = Estimate(None, NoEstimate.PASSED), Estimate(None, NoEstimate.UNCERTAIN)
    for error, before, expected in (
        (None, None, SOON),
        (300, None, SOON),
        (900, None, uncertain),
        (None, NOON + timedelta(minutes=5), SOON),
        (None, NOON - timedelta(minutes=2), passed),
        (300, NOON - timedelta(minutes=2), SOON),
        (300, NOON - timedelta(minutes=6), passed),
    ):
        assert judged(SOON, error, before, NOON) == expected
    nothing = Estimate(None, NoEstimate.UNKNOWN_ENDS)
    assert judged(nothing, None, None, NOON) == nothing


async def test_usual_error_is_that_of_what_was_expected_first(ground: Ground) -> None:
    admin, database, zone_id = ground.campus.admin, ground.campus.database, ground.zone.id
    now = ground.campus.clock()
    for number in range(LEAST_COMPARED):
        assert await database.read(usual_error_seconds, zone_id) is None
        work = await ground.submit(admin, f"quick-{number}")
        for seconds in (100, 9000):
            await database.write(note, {(work, 1): now + timedelta(seconds=seconds)})
    await ground.settle()
    error = await database.read(usual_error_seconds, zone_id)
    assert error is not None
    assert 90 <= error <= 100
    assert await database.read(usual_error_seconds, "z01k9x3v7qzt8m2c4w6d0aa") is None


async def test_only_the_last_estimates_are_compared(ground: Ground) -> None:
    admin, database, zone_id = ground.campus.admin, ground.campus.database, ground.zone.id
    now = ground.campus.clock()
    old = [await ground.submit(admin, f"old-{number}") for number in range(LEAST_COMPARED)]
    new = [await ground.submit(admin, f"new-{number}") for number in range(2)]
    for work in old:
        await database.write(note, {(work, 1): now - timedelta(hours=5)})
    assert 5 * 3600 <= (await database.read(usual_error_seconds, zone_id) or 0) < 5 * 3600 + 60
    ground.campus.clock.advance(seconds=1)
    told = {(work, number): now for work in new for number in range(MOST_COMPARED // 2)}
    await database.write(note, told)
    assert (await database.read(usual_error_seconds, zone_id) or 99) < 60


async def test_work_that_is_gone_is_expected_no_more(ground: Ground) -> None:
    waits = ("w01k9x3v7qzt8m2c4w6d0aa", 1)
    await ground.campus.database.write(note, {waits: NOON})
    assert await ground.campus.database.read(first, waits) is None


async def test_usual_error_is_known_after_a_restart(ground: Ground) -> None:
    """What the schedule loop and `why` foresaw is compared by whoever comes after them."""
    admin, database = ground.campus.admin, ground.campus.database
    for number in range(LEAST_COMPARED):
        await ground.submit(admin, f"first-{number}", gpus=8, time_limit_seconds=600)
        second = await ground.submit(admin, f"second-{number}", gpus=8)
        await ground.settle()
        assert (await _why(ground, second))["starts_at"] is not None
        for _ in range(3):
            await _jump(ground, 150)
    before = await database.read(usual_error_seconds, ground.zone.id)
    assert before is not None
    await ground.restart()
    await ground.submit(admin, "stays", gpus=8, time_limit_seconds=7200)
    last = await ground.submit(admin, "last", gpus=8)
    await ground.settle()
    told = await _why(ground, last)
    assert told["error_seconds"] == before
    assert told["expectation"] is not None


async def test_place_that_is_kept_is_an_expectation(ground: Ground) -> None:
    """Lists say when it will probably start; nobody has to ask why it waits."""
    admin, database = ground.campus.admin, ground.campus.database
    await ground.reserve()
    await ground.submit(admin, "first", gpus=8, time_limit_seconds=600)
    second = await ground.submit(admin, "second", gpus=8, time_limit_seconds=600)
    await ground.settle()
    shown = (await ground.get(second))["waits"]["starts_at"]
    assert shown is not None
    noted = await database.read(first, (second, 1))
    assert noted == datetime.fromisoformat(shown)
    await _jump(ground, 30)
    assert await database.read(first, (second, 1)) == noted
