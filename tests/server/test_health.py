"""Alive, ready, counted."""

import pytest
from fastapi import FastAPI

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
    real, app.state.database = app.state.database, away
    try:
        answer = await visitor.get(path)
        made(await visitor.get("//healthz"))
    finally:
        app.state.database = real
        await away.close()
    problem = refused(answer, 503, "unavailable")
    assert answer.headers["retry-after"] == "5"
    assert "127.0.0.1" not in problem["detail"]
    made(await visitor.get(path))


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
