"""The audit log over HTTP: filters, pages, one entry, export."""

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI, Request

from corral.api.callers import ApiContext, Caller, Origin
from corral.api.parts import provide
from corral.api.problems import install_problem_handlers
from corral.audit.actions import ACTIONS
from corral.audit.context import AuditContext
from corral.audit.record import Subject, record
from corral.audit.routes import router
from corral.core.ids import Kind
from corral.core.permissions import Permission
from corral.store.database import Database
from corral.store.keyring import Keyring
from tests.audit.factories import Happening, Tree, create_caller, create_id, create_path, last_id, record_all

ROOT = create_path()
LAB = create_path(ROOT)
OTHER = create_path(ROOT)


class Api:
    """The audit routes alone, called by whoever `caller` is."""

    def __init__(self, database: Database) -> None:
        self.caller: Caller = create_caller(ROOT)
        app = FastAPI()
        app.include_router(router)
        install_problem_handlers(app)
        keyring = Keyring([bytes(32)])
        provide(
            app,
            ApiContext(database, keyring, self._authenticate, asyncio.Event()),
            AuditContext(Tree(ROOT, LAB, OTHER).find_path),
        )

        @app.middleware("http")
        async def note_origin(request: Request, call_next: Any) -> Any:
            request.state.origin = Origin("192.0.2.17", "5f0c2b7e9d1a4c66")
            return await call_next(request)

        self.client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app), base_url="https://corral.test"
        )

    async def _authenticate(self, _request: Request) -> Caller:
        return self.caller

    async def get(self, path: str, **query: Any) -> httpx2.Response:
        return await self.client.get(f"/audit{path}", params=query)


@pytest.fixture
async def api(database: Database) -> AsyncIterator[Api]:
    opened = Api(database)
    yield opened
    await opened.client.aclose()


async def test_entries_come_newest_first_with_before_and_after(api: Api, database: Database) -> None:
    subject = Subject("user", create_id(Kind.USER), "lin", LAB)
    for priority in (1, 2):
        await database.write(
            record,
            api.caller,
            "user.change",
            subject,
            before={"priority": priority},
            after={"priority": priority + 1},
        )
    answer = (await api.get("")).json()
    assert [item["after"] for item in answer["items"]] == [{"priority": 3}, {"priority": 2}]
    assert answer["next_cursor"] is None
    first = answer["items"][0]
    assert first["actor_id"] == api.caller.user_id
    assert first["organisation_id"] == last_id(LAB)
    assert (await api.get(f"/{first['id']}")).json() == first


async def test_pages_follow_each_other_to_the_last(api: Api, database: Database) -> None:
    entry_ids = await database.write(record_all, [Happening(LAB, minutes=minute) for minute in range(5)])
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await api.get("", limit=2, **cursor)).json()
        found += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert found == entry_ids[::-1]


async def test_filters_are_combined(api: Api, database: Database) -> None:
    mei = create_id(Kind.USER)
    wanted, *_ = await database.write(
        record_all,
        [
            Happening(LAB, actor_id=mei, action="user.change", result="refused", minutes=1),
            Happening(OTHER, actor_id=mei, action="user.change", result="refused", minutes=1),
            Happening(LAB, actor_id=mei, action="role.create", result="refused", minutes=1),
            Happening(LAB, actor_id=mei, action="user.change", result="done", minutes=1),
            Happening(LAB, actor_id=mei, action="user.change", result="refused", minutes=9),
            Happening(LAB, action="user.change", result="refused", minutes=1),
        ],
    )
    answer = await api.get(
        "",
        actor=mei,
        action="user.change",
        organisation=last_id(LAB),
        result="refused",
        since="2026-11-15T16:01:00+08:00",
        until="2026-11-15T08:02:00Z",
    )
    assert [item["id"] for item in answer.json()["items"]] == [wanted]


async def test_several_actions_are_any_of_them(api: Api, database: Database) -> None:
    actions = ["user.change", "role.create", "role.delete"]
    happenings = [Happening(LAB, action=action, minutes=minute) for minute, action in enumerate(actions)]
    await database.write(record_all, happenings)
    answer = await api.get("", action=["role.create", "user.change"])
    assert [item["action"] for item in answer.json()["items"]] == ["role.create", "user.change"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"actor": "mei"}, "query.actor"),
        ({"action": "user.dance"}, "query.action.0"),
        ({"action": ["user.change"] * 21}, "query.action"),
        ({"organisation": ROOT}, "query.organisation"),
        ({"object": "x" * 24}, "query.object"),
        ({"result": "maybe"}, "query.result"),
        ({"since": "yesterday"}, "query.since"),
        ({"since": "2026-11-15T08:00:00"}, "query.since"),
        ({"since": "2026-11-15T08:00:00Z", "until": "2026-11-15T08:00:00Z"}, "query.until"),
        ({"limit": 201}, "query.limit"),
        ({"cursor": "a1"}, "query.cursor"),
        ({"who": "mei"}, "query.who"),
    ],
)
async def test_wrong_filter_is_named(api: Api, query: dict[str, Any], field: str) -> None:
    answer = await api.get("", **query)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert [error["field"] for error in answer.json()["errors"]] == [field]


async def test_organisation_that_may_not_be_read_is_not_found(api: Api) -> None:
    api.caller = create_caller(LAB)
    for organisation in (last_id(OTHER), last_id(ROOT), create_id(Kind.ORGANISATION)):
        assert (await api.get("", organisation=organisation)).status_code == 404
        assert (await api.get("/export", organisation=organisation, format="csv")).status_code == 404


async def test_without_the_permission_nothing_is_read(api: Api) -> None:
    api.caller = create_caller(ROOT, permission=Permission.PEOPLE_READ)
    for path in ("", "/actions", "/export?format=csv", f"/{create_id(Kind.AUDIT)}"):
        assert (await api.get(path)).status_code == 403


async def test_actions_are_listed_with_their_meaning(api: Api) -> None:
    items = (await api.get("/actions")).json()["items"]
    assert {item["key"]: item["description"] for item in items} == ACTIONS


async def test_csv_holds_every_entry_and_no_formula(api: Api, database: Database) -> None:
    dangers = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", 'plain, "quoted"\nand broken']
    subjects = [Subject("user", create_id(Kind.USER), danger, LAB) for danger in dangers]
    for subject in subjects:
        await database.write(record, api.caller, "user.change", subject, after={"name": subject.name})
    answer = await api.get("/export", format="csv", organisation=last_id(LAB))
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith('attachment; filename="corral-audit-')
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert [row["object_name"] for row in rows] == [
        'plain, "quoted"\nand broken',
        "'\tx",
        "'@SUM(A1)",
        "'-1",
        "'+1",
        "'=1+1",
    ]
    assert json.loads(rows[-1]["after"]) == {"name": "=1+1"}
    assert not [cell for row in rows for cell in row.values() if cell[:1] in "=+-@" and cell]


async def test_jsonl_has_the_entries_as_the_api_shows_them(api: Api, database: Database) -> None:
    await database.write(record_all, [Happening(LAB, minutes=minute) for minute in range(3)])
    shown = (await api.get("")).json()["items"]
    answer = await api.get("/export", format="jsonl")
    assert answer.headers["content-type"].startswith("application/jsonl")
    assert [json.loads(line) for line in answer.text.splitlines()] == shown


async def test_export_of_many_pages_is_whole(
    api: Api, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral.audit.export._PAGE", 2)
    entry_ids = await database.write(record_all, [Happening(LAB, minutes=minute) for minute in range(5)])
    answer = await api.get("/export", format="jsonl", action="user.change")
    assert [json.loads(line)["id"] for line in answer.text.splitlines()] == entry_ids[::-1]


async def test_export_is_audited_in_every_organisation_it_reads(api: Api) -> None:
    api.caller = create_caller(LAB, OTHER)
    await api.get("/export", format="csv", result="refused", since="2026-11-15T08:00:00Z")
    items = (await api.get("", action="audit.export")).json()["items"]
    assert {item["organisation_id"] for item in items} == {last_id(LAB), last_id(OTHER)}
    assert items[0]["after"] == {
        "format": "csv",
        "result": "refused",
        "since": datetime(2026, 11, 15, 8, tzinfo=UTC).isoformat(),
    }


async def test_export_that_is_refused_is_not_audited(api: Api) -> None:
    assert (await api.get("/export", format="xlsx")).status_code == 422
    assert (await api.get("")).json()["items"] == []
