"""The first start and those after it: who can get in, and with what."""

import stat
from pathlib import Path

import pytest
from sqlalchemy import select, update

from corral.accelerators.machine import Machine
from corral.identity.bootstrap import renew_presets, super_administrator
from corral.identity.passwords import Passwords
from corral.identity.tables import organisation, role, role_grant, user
from corral.server.app import Parts, create_app
from corral.server.child import Prepared, prepare
from corral.server.machine_zone import MachineZone
from corral.server.settings import Settings
from corral.store.database import Database, Transaction
from corral.store.keyring import Keyring
from tests.apps import ApiClient, started
from tests.campus import ADMINISTRATOR, OF_USERS, Campus, made, refused
from tests.clocks import ShiftedClock

NEW_PASSWORD = "seven-quiet-lanterns"


class Installation:
    """An installation from its first start on, as `corral up` makes it."""

    def __init__(
        self, settings: Settings, database: Database, passwords: Passwords, machine: Machine
    ) -> None:
        self.settings, self.database, self._passwords = settings, database, passwords
        self._machine = machine

    async def start(self) -> Prepared:
        here = MachineZone(self.settings, self._machine, self.database)
        try:
            return await prepare(self.settings, self.database, self._passwords, here)
        finally:
            await here.close()

    @property
    def local_token(self) -> str:
        return self.settings.local_token_path.read_text().strip()

    @property
    def password(self) -> str:
        return self.settings.admin_password_path.read_text().strip()


@pytest.fixture
def installation(
    settings: Settings, database: Database, passwords: Passwords, machine: Machine
) -> Installation:
    return Installation(settings, database, passwords, machine)


@pytest.fixture
async def client(
    installation: Installation, passwords: Passwords, machine: object, tmp_path: Path
) -> "object":
    keyring = Keyring.open(tmp_path / "keyring")
    parts = Parts(installation.settings, installation.database, keyring, machine, passwords)  # type: ignore[arg-type]
    app = create_app(parts)
    async with started(app):
        client = ApiClient(app)
        yield client
        await client.close()


async def test_first_start_makes_root_presets_and_an_administrator(
    installation: Installation, database: Database
) -> None:
    told = await installation.start()

    def look(transaction: Transaction) -> tuple[list[str], list[str], list[str]]:
        roots = [row.name for row in transaction.rows(select(organisation.c.name))]
        keys = [row.key for row in transaction.rows(select(role.c.key).order_by(role.c.key))]
        people = [row.name for row in transaction.rows(select(user.c.name))]
        return roots, keys, people

    roots, keys, people = await database.read(look)
    assert roots == ["Corral"]
    assert keys == ["organisation_administrator", "super_administrator", "user"]
    assert people == ["admin"]
    assert told.admin_name == "admin"
    assert told.password_file == installation.settings.admin_password_path
    assert told.login_link is not None
    assert told.login_link.startswith("https://corral.test/login#once=")
    for path in (installation.settings.admin_password_path, installation.settings.local_token_path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert len(path.read_text().splitlines()) == 1
    assert len(installation.password) >= 20


async def test_first_password_opens_only_the_way_to_an_own_one(
    installation: Installation, client: ApiClient
) -> None:
    await installation.start()
    first = installation.password
    session = made(await client.sign_in("admin", first))
    assert session["must_change_password"] is True
    for path in ("/users", "/organisations", "/audit", "/me/tokens", "/me/sessions", "/system", "/checklist"):
        refused(await client.get(path), 403, "password-change-required")
    refused(await client.post("/me/tokens", {"name": "early"}), 403, "password-change-required")
    made(await client.get("/session"))
    made(await client.get("/me"))
    for weak in ("short", "admin-1234", "aaaaaaaaaaaa", "mypassword1"):
        answer = await client.post("/me/password", {"new_password": weak})
        refused(answer, 422, "invalid", "body.new_password")
    same = await client.post("/me/password", {"new_password": first})
    refused(same, 422, "invalid", "body.new_password")
    made(await client.post("/me/password", {"new_password": NEW_PASSWORD}))
    assert made(await client.get("/session"))["must_change_password"] is False
    made(await client.get("/users"))
    # From the next start on nothing tells of the first password any more.
    told = await installation.start()
    assert (told.login_link, told.password_file) == (None, None)
    assert not installation.settings.admin_password_path.exists()
    refused(await client.sign_in("admin", first), 401, "login-failed")


async def test_local_token_is_new_at_every_start_and_the_old_one_dead(
    installation: Installation, client: ApiClient
) -> None:
    await installation.start()
    first = installation.local_token
    client.http.headers["Authorization"] = f"Bearer {first}"
    session = made(await client.get("/session"))
    assert (session["via"], session["user"]["name"], session["must_change_password"]) == (
        "local",
        "admin",
        False,
    )
    assert session["csrf_token"] is None
    await installation.start()
    assert installation.local_token != first
    refused(await client.get("/session"), 401, "unauthenticated")
    client.http.headers["Authorization"] = f"Bearer {installation.local_token}"
    made(await client.get("/users"))


async def test_login_link_works_once_and_not_for_long(
    installation: Installation, client: ApiClient, clock: ShiftedClock
) -> None:
    def secret(told: Prepared) -> str:
        assert told.login_link is not None
        return told.login_link.partition("#once=")[2]

    older = secret(await installation.start())
    newer = secret(await installation.start())
    refused(await client.post("/session/link", {"secret": older}), 401, "login-failed")
    assert made(await client.post("/session/link", {"secret": newer}))["must_change_password"] is True
    refused(await client.post("/session/link", {"secret": newer}), 401, "login-failed")
    late = secret(await installation.start())
    clock.advance(minutes=15, seconds=1)
    refused(await client.post("/session/link", {"secret": late}), 401, "login-failed")


async def test_presets_are_brought_up_to_date(installation: Installation, database: Database) -> None:
    await installation.start()

    def read(transaction: Transaction) -> list[str]:
        found = transaction.scalar(select(role.c.permissions).where(role.c.key == "user"))
        assert isinstance(found, list)
        return found

    def spoil(transaction: Transaction) -> None:
        transaction.run(
            update(role).where(role.c.key == "user").values(permissions=["long.gone"], name="Old")
        )

    def generation(transaction: Transaction) -> int:
        return int(transaction.scalar(select(role.c.generation).where(role.c.key == "user")))

    await database.write(spoil)
    await installation.start()
    assert await database.read(read) == OF_USERS
    assert await database.read(generation) == 2
    await database.write(renew_presets)
    assert await database.read(generation) == 2


async def test_a_role_of_ones_own_gives_way_to_a_preset_of_its_name(campus: Campus) -> None:
    def forget(transaction: Transaction) -> None:
        transaction.run(role_grant.delete().where(role_grant.c.role_id == campus.presets[ADMINISTRATOR]))
        transaction.run(role.delete().where(role.c.key == ADMINISTRATOR))

    await campus.database.write(forget)
    own = await campus.role("organisation ADMINISTRATOR", ["people.read"])
    await campus.database.write(renew_presets)
    items = made(await campus.admin.get("/roles"))["items"]
    assert [one["key"] for one in items].count(ADMINISTRATOR) == 1
    named = {one["id"]: one["name"] for one in items}
    assert named[own] == f"organisation ADMINISTRATOR (own {own[-4:]})"


async def test_local_token_is_of_someone_who_is_super_administrator_now(campus: Campus) -> None:
    second = await campus.person("second", role="super_administrator")

    def expire_first(transaction: Transaction) -> None:
        transaction.run(
            update(role_grant).where(role_grant.c.user_id != second).values(expires_at=transaction.now)
        )

    await campus.database.write(expire_first)
    assert (await campus.database.read(super_administrator))[1] == "second"
