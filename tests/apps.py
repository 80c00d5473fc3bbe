"""The whole application in the test's own process, and people who talk to it over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from fastapi import FastAPI

from corral.identity.accounts import write_password
from corral.identity.bootstrap import found_installation, super_administrator
from corral.identity.passwords import Passwords
from corral.queues.service import ensure_organisation_queues
from corral.store.database import Database, Transaction
from corral.usage.samples.sampler import open_samples
from tests.zones.machines import found_zone

ORIGIN = "https://corral.test"
PREFIX = "/api/v1"
ADMIN_NAME = "admin"
ADMIN_PASSWORD = "quiet-harbour-lantern-42"
_UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}


class ApiClient:
    """One person's browser: keeps cookies, sends the CSRF token and the origin as the console does.

    Paths are those below /api/v1; one that starts with // is taken from the root: `get("//healthz")`.
    """

    def __init__(self, app: FastAPI, *, address: str = "192.0.2.10") -> None:
        # https, because clients do not send Secure cookies back over http.
        self.http = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app, client=(address, 40000)), base_url=ORIGIN
        )
        self.csrf_token: str | None = None

    async def request(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, **options: Any
    ) -> httpx2.Response:
        sent: dict[str, str] = {}
        if method in _UNSAFE:
            sent["Origin"] = ORIGIN
            if self.csrf_token:
                sent["X-CSRF-Token"] = self.csrf_token
        url = path[1:] if path.startswith("//") else PREFIX + path
        return await self.http.request(method, url, headers=sent | (headers or {}), **options)

    async def get(self, path: str, **options: Any) -> httpx2.Response:
        return await self.request("GET", path, **options)

    async def post(self, path: str, json: Any = None, **options: Any) -> httpx2.Response:
        return await self.request("POST", path, json=json, **options)

    async def put(self, path: str, json: Any, *, match: str | None = None, **options: Any) -> httpx2.Response:
        return await self._change("PUT", path, match, json=json, **options)

    async def patch(
        self, path: str, json: Any, *, match: str | None = None, **options: Any
    ) -> httpx2.Response:
        return await self._change("PATCH", path, match, json=json, **options)

    async def delete(self, path: str, *, match: str | None = None, **options: Any) -> httpx2.Response:
        return await self._change("DELETE", path, match, **options)

    async def _change(self, method: str, path: str, match: str | None, **options: Any) -> httpx2.Response:
        """`match` is the If-Match header: an ETag that was read, or `*`."""
        if match is not None:
            options["headers"] = {"If-Match": match} | options.get("headers", {})
        return await self.request(method, path, **options)

    async def sign_in(self, name: str, password: str) -> httpx2.Response:
        answer = await self.post("/session", {"provider": "local", "name": name, "password": password})
        if answer.is_success:
            self.csrf_token = answer.json()["csrf_token"]
        return answer

    async def close(self) -> None:
        await self.http.aclose()


async def found(database: Database, passwords: Passwords) -> None:
    """The first start, and the administrator has changed the first password already."""
    hashed = await passwords.hash(ADMIN_PASSWORD)

    def work(transaction: Transaction) -> None:
        found_installation(transaction, hashed)
        user_id, _ = super_administrator(transaction)
        write_password(transaction, user_id, hashed, must_change=False)
        found_zone(transaction)
        ensure_organisation_queues(transaction)

    await database.write(work)


async def found_at(url: str) -> None:
    """`found` in the database at this address; the least work for Argon2."""
    database, passwords = Database(url), Passwords(time_cost=1, memory_kib=64)
    try:
        await found(database, passwords)
        await open_samples(database).close()
    finally:
        passwords.close()
        await database.close()


@asynccontextmanager
async def started(app: FastAPI) -> AsyncIterator[None]:
    """Runs the application's lifespan in one task of its own: fixtures begin and end in different ones."""
    ready, done = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.router.lifespan_context(app):
            ready.set()
            await done.wait()

    task = asyncio.create_task(live())
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if not waiting.done():
        waiting.cancel()
        await task  # raises what went wrong
    try:
        yield
    finally:
        done.set()
        await task
