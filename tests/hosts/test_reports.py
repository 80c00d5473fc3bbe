"""A host reports that it is up, whatever the database is."""

from typing import Any

from fastapi import FastAPI
from sqlalchemy import select, update

from corral.api.parts import part
from corral.control.loop import SystemTiming
from corral.control.term import Term
from corral.hosts.service import announce
from corral.hosts.tables import host
from corral.server.app import Loops, ThisHost
from corral.store.database import Database, Transaction
from tests.apps import ApiClient


async def states(admin: ApiClient) -> dict[str, str]:
    items: list[dict[str, Any]] = (await admin.get("/hosts")).json()["items"]
    return {one["name"]: one["state"] for one in items}


async def test_host_that_runs_stays_up_and_one_that_does_not_report_is_silent(
    app: FastAPI, admin: ApiClient, database: Database
) -> None:
    def forget_reports(transaction: Transaction) -> None:
        (first,) = transaction.rows(select(host.c.started_at).limit(1))[:1]
        transaction.run(update(host).values(seen_at=first[0].replace(year=2020)))

    for host_id, name in ((ThisHost().id, "here"), ("f" * 32, "elsewhere")):
        await database.write(announce, host_id, name, "")
    assert await states(admin) == {"here": "up", "elsewhere": "up"}
    await database.write(forget_reports)
    assert await states(admin) == {"here": "silent", "elsewhere": "silent"}
    flush = next(loop for loop in part(app, Loops).all if loop.name == "flush")
    await flush._turn(Term("flush", None, float("inf"), SystemTiming()))
    assert await states(admin) == {"here": "up", "elsewhere": "silent"}
