"""Samples over HTTP: who may see what, and what a question may ask."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi import FastAPI

from corral.api.callers import Caller
from corral.api.parts import part, provide
from corral.core.refusals import NotFound
from corral.store.database import Transaction
from corral.usage.context import UsageContext
from corral.usage.samples.points import Metric, Point, SeriesKey
from tests.campus import Campus, made, refused

NODE = "n01k9x3v7qzt8m2c4w6d0aa"
WORKLOAD = "w01k9x3v7qzt8m2c4w6d0aa"


@pytest.fixture
def usage(app: FastAPI) -> UsageContext:
    """With one workload, which only mei may see."""

    def see(_transaction: Transaction, caller: Caller, workload_id: str) -> None:
        if (workload_id, caller.name) != (WORKLOAD, "mei"):
            raise NotFound("There is no such workload.", "Look again.")

    context = replace(part(app, UsageContext), see_workload=see)
    provide(app, context)
    return context


async def _store(usage: UsageContext, campus: Campus, *subjects: str, value: int = 5) -> datetime:
    """Two points of each subject, ten seconds apart, the last one now."""
    now = campus.database.now().replace(microsecond=0)
    at = int(now.timestamp())
    points = []
    for subject in subjects:
        kind, _, name = subject.partition(":")
        key = SeriesKey(kind, name, Metric.CPU_MILLI)  # type: ignore[arg-type]
        points += [Point(key, at - 10, value), Point(key, at, value + 1)]
    assert await usage.samples.store(points) == (len(points), 0)
    return now


async def test_samples_are_answered_in_steps_with_lowest_mean_and_highest(
    campus: Campus, usage: UsageContext
) -> None:
    now = await _store(usage, campus, f"node:{NODE}")
    since = now - timedelta(minutes=10)
    asked: dict[str, Any] = {
        "subject": f"node:{NODE}",
        "metric": ["cpu_milli", "memory_bytes"],
        "since": since.isoformat(),
        "until": now.isoformat(),
        "points": 1000,
    }
    answer = made(await campus.admin.get("/samples", params=asked))
    assert answer == {
        "step_seconds": 10,
        "items": [
            {
                "metric": "cpu_milli",
                "points": [
                    {"at": _text(now - timedelta(seconds=10)), "lowest": 5, "mean": 5.0, "highest": 5},
                    {"at": _text(now), "lowest": 6, "mean": 6.0, "highest": 6},
                ],
            },
            {"metric": "memory_bytes", "points": []},
        ],
    }


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


async def test_workload_is_sampled_for_those_who_may_see_it(campus: Campus, usage: UsageContext) -> None:
    await campus.person("mei")
    await campus.person("lin")
    subjects = (f"workload:{WORKLOAD}", f"replica:{WORKLOAD}-1-0")
    await _store(usage, campus, *subjects)
    for name, status in (("mei", 200), ("lin", 404)):
        client = await campus.sign_in(name)
        for subject in subjects:
            answer = await client.get("/samples", params={"subject": subject, "metric": "cpu_milli"})
            assert answer.status_code == status, answer.text
    other = await client.get("/samples", params={"subject": "workload:w2", "metric": "cpu_milli"})
    refused(other, 404)


async def test_nodes_and_devices_need_a_permission(campus: Campus, usage: UsageContext) -> None:
    role = await campus.role("Nobody", ["roles.read"])
    await campus.person("guest", role=role)
    guest = await campus.sign_in("guest")
    for subject in (f"node:{NODE}", f"device:{NODE}/gpu-0"):
        asked = {"subject": subject, "metric": "cpu_milli"}
        refused(await guest.get("/samples", params=asked), 403)
        made(await campus.admin.get("/samples", params=asked))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"subject": "moon:1"}, "query.subject"),
        ({"subject": "node:"}, "query.subject"),
        ({"metric": "colour"}, "query.metric.0"),
        ({"metric": []}, "query.metric"),
        ({"points": 1001}, "query.points"),
        ({"points": 0}, "query.points"),
        ({"since": "2026-11-15T09:00:00Z", "until": "2026-11-15T09:00:00Z"}, "query.until"),
    ],
)
async def test_bad_question_is_refused_by_field(campus: Campus, change: dict[str, Any], field: str) -> None:
    asked = {"subject": f"node:{NODE}", "metric": "cpu_milli"} | change
    refused(await campus.admin.get("/samples", params=asked), 422, "invalid", field)
