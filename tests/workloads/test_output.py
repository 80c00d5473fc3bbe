"""Output over HTTP: read from an offset, waited for, downloaded, and seen by those who see the work."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from corral.api.callers import ApiContext
from corral.api.parts import part, provide
from corral.core.concurrency import ConcurrencyLimit
from corral.engines.simulated import Program
from corral.workloads.context import WorkloadContext
from tests.apps import ApiClient
from tests.campus import Campus, made, refused
from tests.control.ground import Ground

BEGAN = "This run is simulated"


class Watched(ConcurrencyLimit):
    """Says when somebody has taken a place."""

    def __init__(self, most: int, what: str, remedy: str) -> None:
        super().__init__(most, what, remedy)
        self.begun = asyncio.Event()

    @contextmanager
    def taken(self, user_id: str) -> Iterator[None]:
        with super().taken(user_id):
            self.begun.set()
            yield


@pytest.fixture
def open_ground(ground: Ground) -> Ground:
    """Whose engine can be asked for output."""
    _limit(ground.campus, 8)
    return ground


def _limit(campus: Campus, most: int) -> None:
    logs = Watched(most, "requests for output", "Close some.")
    provide(campus.app, replace(part(campus.app, WorkloadContext), logs=logs))


def _watched(ground: Ground) -> Watched:
    logs = part(ground.campus.app, WorkloadContext).logs
    assert isinstance(logs, Watched)
    return logs


async def _begun(ground: Ground) -> None:
    await asyncio.wait_for(_watched(ground).begun.wait(), 10)


async def _logs(person: ApiClient, work: str, **query: Any) -> Any:
    return made(await person.get(f"/workloads/{work}/logs", params=query))


async def test_output_is_read_on_from_where_the_last_answer_ended(open_ground: Ground) -> None:
    admin = open_ground.campus.admin
    work = await open_ground.submit(admin, "fit")
    nothing = await _logs(admin, work)
    assert (nothing["attempt"], nothing["text"], nothing["ended"]) == (0, "", False)
    await open_ground.pass_time(10)
    first = await _logs(admin, work)
    assert first["text"].startswith(BEGAN)
    assert (first["attempt"], first["replica"], first["offset"], first["ended"]) == (1, 0, 0, False)
    assert (await _logs(admin, work, after=first["next"]))["text"] == ""
    await open_ground.pass_time(110)
    rest = await _logs(admin, work, after=first["next"])
    assert rest["text"].startswith("It ended at")
    assert rest["ended"] is True
    again = await _logs(admin, work, attempt=1, tail_bytes=1024)
    assert again["text"] == first["text"] + rest["text"]


async def test_whoever_waits_is_answered_when_there_is_more(open_ground: Ground) -> None:
    admin = open_ground.campus.admin
    work = await open_ground.submit(admin, "fit")
    waiting = asyncio.create_task(_logs(admin, work, wait_seconds=25))
    await open_ground.pass_time(10)
    first = await asyncio.wait_for(waiting, 10)
    assert first["text"].startswith(BEGAN)
    waiting = asyncio.create_task(_logs(admin, work, after=first["next"], wait_seconds=25))
    await open_ground.pass_time(110)
    assert (await asyncio.wait_for(waiting, 10))["text"].startswith("It ended at")


async def test_whoever_waits_for_work_that_is_stopped_first_is_told(open_ground: Ground) -> None:
    admin = open_ground.campus.admin
    await open_ground.submit(admin, "all", gpus=8)
    await open_ground.settle()
    work = await open_ground.submit(admin, "waits", gpus=8)
    await open_ground.settle()
    waiting = asyncio.create_task(_logs(admin, work, wait_seconds=25))
    await _begun(open_ground)
    made(await admin.post(f"/workloads/{work}/stop"))
    told = await asyncio.wait_for(waiting, 10)
    assert (told["attempt"], told["ended"]) == (0, True)


async def test_a_stop_of_corral_answers_those_who_wait(open_ground: Ground) -> None:
    admin = open_ground.campus.admin
    open_ground.programs["long"] = Program(None, 1, 2)
    work = await open_ground.submit(admin, "long")
    await open_ground.pass_time(10)
    end = (await _logs(admin, work))["next"]
    _watched(open_ground).begun.clear()
    waiting = asyncio.create_task(_logs(admin, work, after=end, wait_seconds=25))
    await _begun(open_ground)
    part(open_ground.campus.app, ApiContext).stopping.set()
    told = await asyncio.wait_for(waiting, 10)
    assert (told["text"], told["next"], told["ended"]) == ("", end, False)


async def test_one_person_cannot_hold_up_everybody_by_waiting(open_ground: Ground) -> None:
    campus = open_ground.campus
    _limit(campus, 1)
    work = await open_ground.submit(campus.admin, "waits")
    await campus.person("ana")
    ana = await campus.sign_in("ana")
    own = await open_ground.submit(ana, "own")
    waiting = asyncio.create_task(_logs(campus.admin, work, wait_seconds=25))
    await _begun(open_ground)
    problem = refused(await campus.admin.get(f"/workloads/{work}/logs"), 429, "too-many-open")
    assert problem["remedy"] == "Close some."
    assert (await _logs(ana, own))["text"] == ""
    await open_ground.pass_time(10)
    await asyncio.wait_for(waiting, 10)
    await _logs(campus.admin, work)


async def test_output_is_for_those_who_see_the_work(open_ground: Ground) -> None:
    campus = open_ground.campus
    for name in ("ana", "bert"):
        await campus.person(name)
    ana, bert = await campus.sign_in("ana"), await campus.sign_in("bert")
    work = await open_ground.submit(ana, "private")
    await open_ground.pass_time(10)
    for path in ("logs", "logs/download"):
        refused(await bert.get(f"/workloads/{work}/{path}"), 404)
        assert (await ana.get(f"/workloads/{work}/{path}")).status_code == 200
        assert (await campus.admin.get(f"/workloads/{work}/{path}")).status_code == 200


async def test_what_was_never_there_is_named(open_ground: Ground) -> None:
    admin = open_ground.campus.admin
    work = await open_ground.submit(admin, "fit", replicas=2)
    problem = refused(await admin.get(f"/workloads/{work}/logs", params={"replica": 2}), 404)
    assert problem["remedy"] == "Its replicas are 0 to 1; choose one."
    await open_ground.pass_time(120)
    refused(await admin.get(f"/workloads/{work}/logs", params={"attempt": 2}), 404)
    assert (await _logs(admin, work, replica=1))["ended"] is True


async def test_download_is_the_whole_output_with_secrets_starred(open_ground: Ground) -> None:
    campus = open_ground.campus
    here = part(campus.app, WorkloadContext)
    provide(campus.app, replace(here, masks=lambda _transaction, _row: [b"simulated"]))
    work = await open_ground.submit(campus.admin, "fit")
    await open_ground.pass_time(120)
    answer = await campus.admin.get(f"/workloads/{work}/logs/download")
    assert answer.headers["content-disposition"] == f'attachment; filename="{work}-1-0.log"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.text.startswith("This run is ********* and computes nothing.")
    assert answer.text.splitlines()[-1].startswith("It ended at")
    assert answer.text == (await _logs(campus.admin, work))["text"]


async def test_output_in_a_zone_that_nobody_drives_is_refused_in_words(campus: Campus) -> None:
    document = {"name": "waits", "command": ["true"], "resources": {"cpu": 1, "memory": "1Gi"}}
    work = made(await campus.admin.post("/training", document))["id"]
    problem = refused(await campus.admin.get(f"/workloads/{work}/logs"), 503)
    assert problem["detail"] == "No Corral drives the zone of this work now, so nobody can reach it."
