"""Estimates are said with their usual error, withdrawn when their time has passed, and else not said."""

from datetime import UTC, datetime, timedelta
from typing import Any

from corral.core.explanations import Estimate, NoEstimate
from corral.workloads.expectations import LEAST_COMPARED, MOST_COMPARED, Expectations, judged
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
    first = await _why(ground, second)
    assert first["starts_at"] is not None
    await _jump(ground, 900)
    assert await ground.state(second) == "queued"
    told = await _why(ground, second)
    assert (told["starts_at"], told["no_estimate"]) == (None, "passed")
    assert told["expectation"] == "no estimate: it was to start before now, and did not"


def test_estimate_is_judged_by_the_last_ones() -> None:
    passed, uncertain = Estimate(None, NoEstimate.PASSED), Estimate(None, NoEstimate.UNCERTAIN)
    for error, first, expected in (
        (None, None, SOON),
        (300, None, SOON),
        (900, None, uncertain),
        (None, NOON + timedelta(minutes=5), SOON),
        (None, NOON - timedelta(minutes=2), passed),
        (300, NOON - timedelta(minutes=2), SOON),
        (300, NOON - timedelta(minutes=6), passed),
    ):
        assert judged(SOON, error, first, NOON) == expected
    nothing = Estimate(None, NoEstimate.UNKNOWN_ENDS)
    assert judged(nothing, None, None, NOON) == nothing


async def test_usual_error_is_that_of_what_was_told_first(ground: Ground) -> None:
    admin, database = ground.campus.admin, ground.campus.database
    expectations = Expectations()
    now = ground.campus.clock()
    for number in range(LEAST_COMPARED):
        assert await database.read(expectations.usual_error_seconds) is None
        work = await ground.submit(admin, f"quick-{number}")
        expectations.note((work, 1), now + timedelta(seconds=100))
        expectations.note((work, 1), now + timedelta(seconds=9000))
    await ground.settle()
    error = await database.read(expectations.usual_error_seconds)
    assert error is not None
    assert 90 <= error <= 100
    for number in range(MOST_COMPARED):
        expectations.note((f"w{number}", 1), now)
    assert expectations.first((work, 1)) is None
