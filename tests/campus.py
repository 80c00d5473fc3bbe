"""An installation with people in it: factories for organisations, people and roles, and who is signed in."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from corral.api.callers import Authority, Caller, Origin
from corral.core.permissions import Permission
from corral.identity.accounts import write_password
from corral.identity.bootstrap import PRESETS
from corral.identity.grants import add_grant, add_membership
from corral.identity.lookups import find_node, find_role, role_by_key, root_of
from corral.identity.models import State
from corral.identity.passwords import Passwords
from corral.identity.users import add_user
from corral.store.database import Database, Transaction
from tests.apps import ApiClient
from tests.clocks import ShiftedClock

PASSWORD = "calm-river-stone-17"
ADMINISTRATOR = "organisation_administrator"
# What the preset for everybody allows.
OF_USERS = sorted(next(one for one in PRESETS if one.key == "user").permissions)


class Campus:
    """The application, its administrator, and shortcuts that say what a test needs in one line."""

    def __init__(self, app: FastAPI, admin: ApiClient, database: Database, clock: ShiftedClock) -> None:
        self.app, self.admin, self.database, self.clock = app, admin, database, clock
        self.root = ""
        self.presets: dict[str, str] = {}
        self._hash = ""
        self._clients: list[ApiClient] = []

    async def open(self, passwords: Passwords) -> None:
        self._hash = await passwords.hash(PASSWORD)

        def look(transaction: Transaction) -> tuple[str, dict[str, str]]:
            keys = ("super_administrator", ADMINISTRATOR, "user")
            return root_of(transaction).id, {key: role_by_key(transaction, key).id for key in keys}

        self.root, self.presets = await self.database.read(look)

    async def close(self) -> None:
        for client in self._clients:
            await client.close()

    async def organisation(self, name: str, parent: str | None = None) -> str:
        new = {"parent_id": parent or self.root, "name": name}
        return str(made(await self.admin.post("/organisations", new))["id"])

    async def person(
        self,
        name: str,
        organisation: str | None = None,
        role: str = "user",
        *,
        state: State = "active",
        display_name: str | None = None,
        mail: str | None = None,
    ) -> str:
        """An account with PASSWORD; `role` is a preset's key or the id of a role."""
        node_id, role_id = organisation or self.root, self.presets.get(role, role)

        def work(transaction: Transaction) -> str:
            user_id = add_user(
                transaction, name=name, display_name=display_name or name.title(), mail=mail, state=state
            )
            write_password(transaction, user_id, self._hash, must_change=False)
            caller = _super_administrator(transaction)
            node = find_node(transaction, caller, node_id, Permission.PEOPLE_MANAGE)
            add_membership(transaction, user_id, node)
            add_grant(transaction, user_id, find_role(transaction, caller, role_id), node, None)
            return user_id

        return await self.database.write(work)

    async def role(self, name: str, permissions: list[str], organisation: str | None = None) -> str:
        new = {"organisation_id": organisation or self.root, "name": name, "permissions": permissions}
        return str(made(await self.admin.post("/roles", new))["id"])

    async def grant(self, user_id: str, role: str, organisation: str, **more: Any) -> httpx2.Response:
        new = {"role_id": self.presets.get(role, role), "organisation_id": organisation, **more}
        return await self.admin.post(f"/users/{user_id}/grants", new)

    def visitor(self, address: str = "192.0.2.77") -> ApiClient:
        client = ApiClient(self.app, address=address)
        self._clients.append(client)
        return client

    async def sign_in(self, name: str, password: str = PASSWORD, address: str = "192.0.2.20") -> ApiClient:
        client = self.visitor(address)
        answer = await client.sign_in(name, password)
        assert answer.status_code == 201, answer.text
        return client

    async def use_link(self, secret: str, address: str = "192.0.2.21") -> ApiClient:
        client = self.visitor(address)
        answer = made(await client.post("/session/link", {"secret": secret}))
        client.csrf_token = answer["csrf_token"]
        return client

    def bearer(self, secret: str) -> ApiClient:
        """A program with a token instead of a browser."""
        client = self.visitor("192.0.2.30")
        client.http.headers["Authorization"] = f"Bearer {secret}"
        return client

    async def token(self, owner: ApiClient, *scopes: str, name: str = "script") -> ApiClient:
        new = {"name": name, "scopes": list(scopes) or ["*"]}
        return self.bearer(made(await owner.post("/me/tokens", new))["secret"])

    async def audit(self, **filters: str) -> list[dict[str, Any]]:
        answer = await self.admin.get("/audit", params={"limit": "200", **filters})
        assert answer.status_code == 200, answer.text
        items: list[dict[str, Any]] = answer.json()["items"]
        return items


def _super_administrator(transaction: Transaction) -> Caller:
    everything = Authority(root_of(transaction).path, frozenset(Permission))
    return Caller("", "tests", "system", "", Origin("", ""), (everything,))


def made(answer: httpx2.Response) -> Any:
    """The body of an answer that must be one of success."""
    assert answer.is_success, f"{answer.status_code}: {answer.text}"
    return answer.json() if answer.content else None


def refused(answer: httpx2.Response, status: int, slug: str | None = None, field: str | None = None) -> Any:
    """The problem in an answer that must be a refusal."""
    assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    if slug is not None:
        assert problem["type"] == f"/problems/{slug}", problem
    if field is not None:
        assert field in [error["field"] for error in problem["errors"]], problem
    assert problem["detail"]
    assert problem["remedy"]
    return problem


@pytest.fixture
async def campus(
    app: FastAPI, admin: ApiClient, database: Database, clock: ShiftedClock, passwords: Passwords
) -> AsyncIterator[Campus]:
    campus = Campus(app, admin, database, clock)
    await campus.open(passwords)
    yield campus
    await campus.close()
