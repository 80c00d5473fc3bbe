"""Alive, ready, counted."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi import FastAPI

from corral.api.callers import ApiContext
from corral.api.parts import part, provide
from corral.control.loop import Done, Loop
from corral.control.pace import Pace
from corral.control.registry import ZoneRegistry
from corral.control.term import Term
from corral.server.app import Loops
from corral.server.readiness import Readiness
from corral.store.database import Database
from tests.apps import ApiClient
from tests.campus import ADMINISTRATOR, Campus, campus, made, refused

__all__ = ["campus"]


async def test_alive_and_ready_need_no_account(visitor: ApiClient) -> None:
    for path in ("//healthz", "//readyz"):
        assert made(await visitor.get(path)) == {"status": "ok"}


@pytest.mark.parametrize("path", ["//readyz", "/login-options"])
async def test_without_its_database_it_is_alive_but_not_ready(
    app: FastAPI, visitor: ApiClient, path: str
) -> None:
    """Nobody listens on port 1: the same as a database server that is down."""
    away = Database("postgresql+asyncpg://nobody@127.0.0.1:1/none")
    here = part(app, ApiContext)
    provide(app, replace(here, database=away))
    try:
        answer = await visitor.get(path)
        made(await visitor.get("//healthz"))
    finally:
        provide(app, here)
        await away.close()
    problem = refused(answer, 503, "unavailable")
    assert answer.headers["retry-after"] == "5"
    assert "127.0.0.1" not in problem["detail"]
    made(await visitor.get(path))


async def test_not_ready_names_the_loop_that_fails_and_since_when(app: FastAPI, visitor: ApiClient) -> None:
    async def turn(_: Term) -> Done:
        raise OSError(28, "No space left on device", "/srv/secret")

    loop = Loop(
        "broken",
        part(app, ApiContext).database,
        turn,
        60,
        exclusive=False,
        pace=Pace(60, first_delay_seconds=0.01),
    )
    loops = [*part(app, Loops).all, loop]
    provide(app, Readiness(part(app, Readiness).home, loops, part(app, ZoneRegistry)))
    task = asyncio.create_task(loop.run())
    try:
        async with asyncio.timeout(20):
            while loop.failing() is None:  # noqa: ASYNC110 - its turns fail meanwhile
                await asyncio.sleep(0.01)
        problem = refused(await visitor.get("//readyz"), 503, "unavailable")
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    (error,) = problem["errors"]
    assert error["field"] == "broken"
    assert error["message"].startswith("The loop broken fails since 20")
    assert "No space left on device" in problem["detail"]
    assert "secret" not in str(problem)


async def test_not_ready_while_the_data_directory_cannot_be_written(
    app: FastAPI, visitor: ApiClient, tmp_path: Path
) -> None:
    provide(app, Readiness(tmp_path / "gone", [], part(app, ZoneRegistry)))
    problem = refused(await visitor.get("//readyz"), 503, "unavailable")
    assert [error["field"] for error in problem["errors"]] == ["data directory"]
    assert "The data directory cannot be written: No such file or directory." in problem["detail"]
    made(await visitor.get("//healthz"))


async def test_metrics_are_for_those_who_may_see_the_whole_system(campus: Campus) -> None:
    refused(await campus.visitor().get("//metrics"), 401, "unauthenticated")
    lab = await campus.organisation("Vision Lab")
    await campus.person("lead", lab, ADMINISTRATOR)
    refused(await (await campus.sign_in("lead")).get("//metrics"), 403, "forbidden")
    operator = await campus.role("Operator", ["system.read"])
    await campus.person("below", lab, operator)
    refused(await (await campus.sign_in("below")).get("//metrics"), 403, "forbidden")
    program = await campus.token(campus.admin, "system.read")
    answer = await program.get("//metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    for name in ("corral_http_requests_total", "corral_database_seconds_bucket", "process_cpu_seconds"):
        assert name in answer.text
