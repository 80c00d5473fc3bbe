"""People see what they used, and leads what was used below them."""

import csv
from datetime import datetime
from typing import Any

import pytest

from corral.store.database import Database
from corral.usage import ledger
from corral.usage.rules import HOUR_US
from tests.apps import ApiClient
from tests.campus import Campus, made, refused
from tests.usage.factories import CPU, GPU, HOUR, MINUTE, ZONE, Machine, create_grant

DAY = {"since": "2026-11-15T00:00:00Z", "until": "2026-11-16T00:00:00Z"}
GPU_HOUR = 1000 * 3600


async def _held(
    database: Database, machine: Machine, number: int, minutes: int, *, ended: bool = True, **given: Any
) -> str:
    """Somebody held two GPUs and four cores for so many minutes; only the machine of the test waits."""
    grant = create_grant(number, **given)
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(minutes * MINUTE)
    await database.write(ledger.beat, ZONE, machine.reading())
    if ended:
        await database.write(ledger.close, grant.allocation_id, machine.mark())
    return grant.workload_id


async def _sums(client: ApiClient, **asked: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = made(await client.get("/usage", params=DAY | asked))["items"]
    return items


async def _gpu_hours(client: ApiClient, **asked: str) -> float:
    sums = await _sums(client, **asked)
    return sum(one["amount_seconds"] for one in sums if one["resource"] == "gpu_milli") / GPU_HOUR


async def test_person_sees_their_own_usage_and_nobody_elses(campus: Campus, database: Database) -> None:
    machine = Machine()
    mei, lin = await campus.person("mei"), await campus.person("lin")
    await _held(database, machine, 1, 90, user_id=mei, organisation_id=campus.root)
    await _held(database, machine, 2, 30, user_id=lin, organisation_id=campus.root)
    client = await campus.sign_in("mei")
    assert await _gpu_hours(client) == 3.0
    assert await _gpu_hours(client, user=mei) == 3.0
    assert await _gpu_hours(client, user=lin) == 0
    assert await _gpu_hours(client, user=mei, organisation=campus.root) == 3.0
    refused(await client.get("/usage", params={"organisation": campus.root}), 403)


async def test_lead_sees_what_was_used_below(campus: Campus, database: Database) -> None:
    machine = Machine()
    physics = await campus.organisation("Physics")
    lab = await campus.organisation("Lab", physics)
    other = await campus.organisation("Chemistry")
    student = await campus.person("student", lab)
    await campus.person("lead", physics, "organisation_administrator")
    await _held(database, machine, 1, 60, user_id=student, organisation_id=lab)
    await _held(database, machine, 2, 60, user_id=student, organisation_id=other)
    client = await campus.sign_in("lead")
    assert await _gpu_hours(client) == 2.0
    assert await _gpu_hours(client, organisation=physics) == 2.0
    assert await _gpu_hours(client, user=student) == 2.0
    refused(await client.get("/usage", params={"organisation": other}), 404)
    assert await _gpu_hours(campus.admin) == 4.0
    assert await _gpu_hours(campus.admin, organisation=campus.root) == 4.0


async def test_usage_goes_where_its_organisation_goes_and_stays_when_it_is_deleted(
    campus: Campus, database: Database
) -> None:
    machine = Machine()
    old, new = await campus.organisation("Old"), await campus.organisation("New")
    moved, gone = await campus.organisation("Moved", old), await campus.organisation("Gone", old)
    await _held(database, machine, 1, 60, organisation_id=moved)
    await _held(database, machine, 2, 30, organisation_id=gone)
    made(await campus.admin.patch(f"/organisations/{moved}", {"parent_id": new}, match="*"))
    made(await campus.admin.delete(f"/organisations/{gone}", match="*"))
    assert await _gpu_hours(campus.admin, organisation=new) == 2.0
    assert await _gpu_hours(campus.admin, organisation=old) == 1.0


async def test_queue_and_workload_narrow_together(campus: Campus, database: Database) -> None:
    machine = Machine()
    queue = "q01k9x3v7qzt8m2c4w6d0zz"
    first = await _held(database, machine, 1, 60, queue_id=queue)
    second = await _held(database, machine, 2, 30, queue_id=queue)
    third = await _held(database, machine, 3, 30)
    assert await _gpu_hours(campus.admin, queue=queue) == 3.0
    assert await _gpu_hours(campus.admin, workload=second) == 1.0
    assert await _gpu_hours(campus.admin, queue=queue, workload=first) == 2.0
    assert await _gpu_hours(campus.admin, queue=queue, workload=third) == 0


async def test_hours_and_days_are_told_apart(campus: Campus, database: Database) -> None:
    await _held(database, Machine(), 1, 16 * 60, organisation_id=campus.root)
    whole = {"until": "2026-11-17T00:00:00Z"}
    hours = [one for one in await _sums(campus.admin, per="hour", **whole) if one["resource"] == "gpu_milli"]
    assert [one["since"] for one in hours[:2]] == ["2026-11-15T08:00:00Z", "2026-11-15T09:00:00Z"]
    assert [one["amount_seconds"] for one in hours[:2]] == [GPU_HOUR // 3, 2 * GPU_HOUR]
    assert len(hours) == 17
    days = [one for one in await _sums(campus.admin, per="day", **whole) if one["resource"] == "gpu_milli"]
    assert [(one["since"], one["amount_seconds"]) for one in days] == [
        ("2026-11-15T00:00:00Z", 30 * GPU_HOUR + GPU_HOUR // 3),
        ("2026-11-16T00:00:00Z", GPU_HOUR + GPU_HOUR * 2 // 3),
    ]


@pytest.mark.parametrize(
    ("since", "until", "minutes"),
    [("08:00", "09:00", 10), ("08:55", "09:05", 10), ("08:55", "08:56", 1), ("10:15", "23:00", 5)],
)
async def test_only_what_lies_in_the_time_counts(
    campus: Campus, database: Database, since: str, until: str, minutes: int
) -> None:
    await _held(database, Machine(), 1, 90, ended=False)
    asked = {"since": f"2026-11-15T{since}:00Z", "until": f"2026-11-15T{until}:00Z"}
    assert await _gpu_hours(campus.admin, **asked) == pytest.approx(2 * minutes / 60)


async def test_what_is_held_now_counts_up_to_its_last_heartbeat(campus: Campus, database: Database) -> None:
    machine = Machine()
    await _held(database, machine, 1, 85, ended=False)
    machine.pass_time(20 * MINUTE)
    assert await _gpu_hours(campus.admin) == pytest.approx(2 * 85 / 60)


async def test_lost_work_is_summed_apart(campus: Campus, database: Database) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    since = machine.boottime_us + 15 * MINUTE
    machine.pass_time(2 * HOUR)
    await database.write(ledger.beat, ZONE, machine.reading())
    await database.write(ledger.close, grant.allocation_id, machine.mark(), lost_since_us=since)
    sums = {
        one["outcome"]: one["amount_seconds"]
        for one in await _sums(campus.admin)
        if one["resource"] == "gpu_milli"
    }
    assert sums == {"used": GPU_HOUR // 2, "lost": 7 * GPU_HOUR // 2}


async def test_people_and_organisations_are_told_apart_by_name(campus: Campus, database: Database) -> None:
    machine = Machine()
    lab = await campus.organisation("Lab")
    mei, lin = await campus.person("mei"), await campus.person("lin")
    for number, user in ((1, mei), (2, lin), (3, mei)):
        await _held(database, machine, number, 30, user_id=user, organisation_id=lab)
    found = {
        (one["owner"], one["owner_name"]): one["amount_seconds"] / GPU_HOUR
        for one in await _sums(campus.admin, by="user")
        if one["resource"] == "gpu_milli"
    }
    assert found == {(mei, "mei"): 2.0, (lin, "lin"): 1.0}
    assert {one["owner_name"] for one in await _sums(campus.admin, by="organisation")} == {"Lab"}


async def test_models_and_resources_are_told_apart(campus: Campus, database: Database) -> None:
    machine = Machine()
    other = ("gpu_milli", "A100-40GB", 500)
    await _held(database, machine, 1, 60, resources=(GPU, CPU))
    await _held(database, machine, 2, 60, resources=(other,))
    found = [(one["resource"], one["model"], one["amount_seconds"]) for one in await _sums(campus.admin)]
    assert found == [
        ("cpu_milli", "", 4000 * 3600),
        ("gpu_milli", "A100-40GB", 500 * 3600),
        ("gpu_milli", "H100-80GB", 2000 * 3600),
    ]


async def test_sums_beyond_the_range_of_a_database_integer_are_exact(
    campus: Campus, database: Database
) -> None:
    huge = ("memory_mib", "", 4_000_000_000)
    await _held(database, Machine(), 1, 180, resources=(huge,))
    sums = await _sums(campus.admin)
    assert sums[0]["amount_seconds"] == 4_000_000_000 * 3 * 3600
    assert 4_000_000_000 * 3 * HOUR_US > 2**63


async def test_file_has_the_same_sums(campus: Campus, database: Database) -> None:
    await _held(database, Machine(), 1, 60, ended=False)
    answer = await campus.admin.get("/usage/export", params=DAY | {"per": "hour"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert 'filename="corral-usage-' in answer.headers["content-disposition"]
    lines = list(csv.DictReader(answer.text.splitlines()))
    sums = await _sums(campus.admin, per="hour")
    assert [{key: str(value) for key, value in one.items()} for one in sums] == lines


async def test_last_thirty_days_unless_said_otherwise(campus: Campus) -> None:
    answer = made(await campus.admin.get("/usage"))
    span = datetime.fromisoformat(answer["until"]) - datetime.fromisoformat(answer["since"])
    assert span.days == 30


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"since": "2026-11-15T00:00:00Z", "until": "2026-11-14T00:00:00Z"}, "query.until"),
        ({"per": "minute"}, "query.per"),
        ({"user": "mei"}, "query.user"),
        ({"colour": "red"}, "query.colour"),
    ],
)
async def test_bad_question_is_refused_by_field(campus: Campus, asked: dict[str, str], field: str) -> None:
    refused(await campus.admin.get("/usage", params=asked), 422, "invalid", field)


async def test_answer_with_too_many_lines_is_refused(
    campus: Campus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral.usage.sums.MOST_SUMS", 5)
    await _held(database, Machine(), 1, 360)
    refused(await campus.admin.get("/usage", params=DAY | {"per": "hour"}), 422, "invalid", "query.per")


async def test_what_is_simulated_is_not_what_a_person_used(campus: Campus, database: Database) -> None:
    """It counts on its own page; a thousand simulated GPUs for a week are on nobody's bill."""
    machine = Machine()
    mei = await campus.person("mei")
    lab = made(await campus.admin.post("/zones", {"name": "lab", "nodes": "1x8xH100-80GB"}))
    grant = create_grant(1, user_id=mei, organisation_id=campus.root, zone_id=lab["id"])
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(60 * MINUTE)
    await database.write(ledger.beat, lab["id"], machine.reading())
    await _held(database, machine, 2, 30, user_id=mei, organisation_id=campus.root)
    client = await campus.sign_in("mei")
    assert await _gpu_hours(client) == await _gpu_hours(campus.admin, organisation=campus.root) == 1.0
    assert await _gpu_hours(client, workload=grant.workload_id) == 2.0
